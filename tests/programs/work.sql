create table entries (number integer primary key, name text, weight real);
with recursive counter(i) as (select 1 union all select i + 1 from counter where i < 40000)
insert into entries select i, printf('entry %d of %s', i * 7919 % 40000, hex(zeroblob(i % 60))), i * 0.5 from counter;
create index by_name on entries(name);
delete from entries where number % 3 = 0;
update entries set name = name || '!' where number % 5 = 0;
select count(*), sum(length(name)), sum(weight) from entries;
select substr(name, 1, 20), count(*) from entries group by 1 order by 2 desc, 1 limit 10;
select group_concat(number) from (select a.number from entries a join entries b on a.number = b.number * 2 order by a.name limit 50);
