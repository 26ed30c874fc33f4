# Work for perl: strings that grow, hashes of lists, sorting and regular expressions.
use strict;
use warnings;
my (%words, $text);
for my $i (1 .. 30000) {
  my $word = join '', map { chr(97 + ($i * 31 + $_ * 7) % 26) } 1 .. 1 + $i % 12;
  push @{$words{$word}}, $i;
  $text .= "$word ";
}
my $sum = 0;
for my $word (sort keys %words) {
  $sum = ($sum * 31 + @{$words{$word}} * length $word) % 1000000007;
  delete $words{$word} if $sum % 2;
}
(my $changed = $text) =~ s/(\w)(\w+)/$2$1/g;
my $checksum = unpack '%32C*', $changed . join ',', map { "$_=@{$words{$_}}" } sort keys %words;
print "$sum $checksum ", scalar(keys %words), ' ', length($changed), "\n";
