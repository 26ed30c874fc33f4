// Small benchmarks of libraries and crates that programs use, one after the other, after each of ten
// histories of the heap. Under valgrind's callgrind each writes its instructions. Built and read by
// research/steady_counts.py.
#include <cJSON.h>
#include <cmark.h>
#include <expat.h>
#include <fmt/format.h>
#include <glib.h>
#include <gmpxx.h>
#include <jansson.h>
#include <libxml/parser.h>
#include <pcre2.h>
#include <rapidjson/document.h>
#include <re2/re2.h>
#include <sqlite3.h>
#include <tinyxml2.h>
#include <valgrind/callgrind.h>
#include <yaml-cpp/yaml.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <lua5.4/lua.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

std::string json_text, xml_text, yaml_text, toml_text, csv_text, prose;

void write_texts() {
  json_text = "[", xml_text = "<all>";
  for (int item = 0; item < 400; ++item) {
    const std::string number = std::to_string(item), name = "the name of the item " + number;
    json_text += (item ? "," : "") + ("{\"name\":\"" + name) + "\",\"number\":" + number +
                 ",\"list\":[1,2.5,null,true]}";
    xml_text += "<item number=\"" + number + "\"><name>" + name + "</name><list>1 2 3</list></item>";
    yaml_text += "- name: " + name + "\n  number: " + number + "\n  list: [1, 2, 3]\n";
    toml_text += "[item" + number + "]\nname = \"" + name + "\"\nlist = [1, 2, 3]\n";
    csv_text += number + "," + name + ",1 2 3\n";
    prose += "## Item " + number + "\n\nA *word* about `" + name + "` and [a link](https://example.org/" +
             number + ").\n\n";
  }
  json_text += "]", xml_text += "</all>";
}

std::size_t with_cjson() {
  cJSON* const tree = cJSON_Parse(json_text.c_str());
  char* const text = cJSON_Print(tree);
  const std::size_t length = std::char_traits<char>::length(text);
  std::free(text);
  cJSON_Delete(tree);
  return length;
}

std::size_t with_cmark() {
  char* const html = cmark_markdown_to_html(prose.data(), prose.size(), CMARK_OPT_DEFAULT);
  const std::size_t length = std::char_traits<char>::length(html);
  std::free(html);
  return length;
}

std::size_t with_expat() {
  XML_Parser parser = XML_ParserCreate(nullptr);
  std::size_t elements = 0;
  XML_SetHashSalt(parser, 1);
  XML_SetUserData(parser, &elements);
  XML_SetStartElementHandler(
      parser, [](void* count, const char*, const char**) { ++*static_cast<std::size_t*>(count); });
  XML_Parse(parser, xml_text.data(), static_cast<int>(xml_text.size()), 1);
  XML_ParserFree(parser);
  return elements;
}

std::size_t with_fmt() {
  std::vector<std::string> lines;
  for (int line = 0; line < 1000; ++line)
    lines.push_back(fmt::format("{:>8} of {} in {:.3f} s", line, prose.substr(0, 40), line / 7.0));
  return lines.size();
}

std::size_t with_glib() {
  GHashTable* const table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  for (int key = 0; key < 1000; ++key)
    g_hash_table_insert(table, g_strdup_printf("key %d", key), g_strdup("value"));
  const std::size_t size = g_hash_table_size(table);
  g_hash_table_destroy(table);
  return size;
}

std::size_t with_gmp() {
  mpz_class product = 1;
  for (int factor = 1; factor < 800; ++factor) product *= factor;
  return product.get_str().size();
}

std::size_t with_jansson() {
  json_t* const tree = json_loads(json_text.c_str(), 0, nullptr);
  char* const text = json_dumps(tree, JSON_INDENT(2));
  const std::size_t length = std::char_traits<char>::length(text);
  std::free(text);
  json_decref(tree);
  return length;
}

std::size_t with_zstd() {
  std::vector<char> packed(ZSTD_compressBound(prose.size()));
  return ZSTD_compress(packed.data(), packed.size(), prose.data(), prose.size(), 3);
}

std::size_t with_libxml() {
  xmlDoc* const tree = xmlReadMemory(xml_text.data(), static_cast<int>(xml_text.size()), nullptr, nullptr, 0);
  xmlChar* text = nullptr;
  int length = 0;
  xmlDocDumpMemory(tree, &text, &length);
  xmlFree(text);
  xmlFreeDoc(tree);
  return static_cast<std::size_t>(length);
}

std::size_t with_libyaml() {
  yaml_parser_t parser;
  yaml_document_t document;
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(yaml_text.data()),
                               yaml_text.size());
  yaml_parser_load(&parser, &document);
  const auto nodes = static_cast<std::size_t>(document.nodes.top - document.nodes.start);
  yaml_document_delete(&document);
  yaml_parser_delete(&parser);
  return nodes;
}

std::size_t with_lua() {
  lua_State* const state = luaL_newstate();
  luaL_openlibs(state);
  luaL_dostring(state,
                "local t = {} for i = 1, 2000 do t[i] = {name = 'n' .. i, list = {i, i + 1}} end return #t");
  const auto size = static_cast<std::size_t>(lua_tointeger(state, -1));
  lua_close(state);
  return size;
}

std::size_t with_nlohmann() {
  return nlohmann::json::parse(json_text).dump().size();
}

std::size_t with_pcre2() {
  int error = 0;
  std::size_t at = 0, matches = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<const unsigned char*>("item (\\d+)"),
                                         PCRE2_ZERO_TERMINATED, 0, &error, &at, nullptr);
  for (std::size_t start = 0;;) {
    pcre2_match_data* const found = pcre2_match_data_create_from_pattern(code, nullptr);
    const int count = pcre2_match(code, reinterpret_cast<const unsigned char*>(prose.data()), prose.size(),
                                  start, 0, found, nullptr);
    if (count > 0) start = pcre2_get_ovector_pointer(found)[1];
    pcre2_match_data_free(found);
    if (count <= 0) break;
    ++matches;
  }
  pcre2_code_free(code);
  return matches;
}

std::size_t with_pugixml() {
  pugi::xml_document tree;
  tree.load_string(xml_text.c_str());
  return static_cast<std::size_t>(std::distance(tree.child("all").begin(), tree.child("all").end()));
}

std::size_t with_rapidjson() {
  rapidjson::Document tree;
  tree.Parse(json_text.c_str());
  return tree.Size();
}

std::size_t with_re2() {
  const RE2 pattern("item (\\d+)");
  re2::StringPiece rest(prose);
  std::size_t matches = 0;
  for (std::string number; RE2::FindAndConsume(&rest, pattern, &number);) ++matches;
  return matches;
}

std::size_t with_sqlite() {
  sqlite3* base = nullptr;
  sqlite3_open(":memory:", &base);
  sqlite3_exec(base, "create table t(number integer primary key, name text); begin", nullptr, nullptr,
               nullptr);
  for (int row = 0; row < 300; ++row)
    sqlite3_exec(base, ("insert into t(name) values('name " + std::to_string(row) + "')").c_str(), nullptr,
                 nullptr, nullptr);
  std::size_t rows = 0;
  sqlite3_exec(
      base, "commit; select * from t where name like '%9%' order by name",
      [](void* count, int, char**, char**) {
        ++*static_cast<std::size_t*>(count);
        return 0;
      },
      &rows, nullptr);
  sqlite3_close(base);
  return rows;
}

std::size_t with_tinyxml2() {
  tinyxml2::XMLDocument tree;
  tree.Parse(xml_text.c_str());
  tinyxml2::XMLPrinter printer;
  tree.Print(&printer);
  return static_cast<std::size_t>(printer.CStrSize());
}

std::size_t with_yaml_cpp() {
  return YAML::Load(yaml_text).size();
}

std::size_t with_zlib() {
  uLongf length = compressBound(prose.size());
  const auto packed = std::make_unique<unsigned char[]>(length);
  compress(packed.get(), &length, reinterpret_cast<const unsigned char*>(prose.data()), prose.size());
  return length;
}

// steady_counts_crates/lib.rs
extern "C" {
std::size_t crate_csv(const char* text, std::size_t length);
std::size_t crate_pulldown_cmark(const char* text, std::size_t length);
std::size_t crate_quick_xml(const char* text, std::size_t length);
std::size_t crate_regex(const char* text, std::size_t length);
std::size_t crate_serde_json(const char* text, std::size_t length);
std::size_t crate_toml(const char* text, std::size_t length);
}

template <auto crate, const std::string& text>
std::size_t with_crate() {
  return crate(text.data(), text.size());
}

struct benchmark {
  const char* name;
  std::size_t (*run)();
};

constexpr benchmark benchmarks[] = {
    {"cJSON", with_cjson},
    {"cmark", with_cmark},
    {"expat", with_expat},
    {"fmt", with_fmt},
    {"GLib", with_glib},
    {"GMP", with_gmp},
    {"Jansson", with_jansson},
    {"Zstandard", with_zstd},
    {"libxml2", with_libxml},
    {"libyaml", with_libyaml},
    {"Lua", with_lua},
    {"nlohmann-json", with_nlohmann},
    {"PCRE2", with_pcre2},
    {"pugixml", with_pugixml},
    {"RapidJSON", with_rapidjson},
    {"RE2", with_re2},
    {"SQLite", with_sqlite},
    {"TinyXML-2", with_tinyxml2},
    {"yaml-cpp", with_yaml_cpp},
    {"zlib", with_zlib},
    {"crate/csv", with_crate<crate_csv, csv_text>},
    {"crate/pulldown-cmark", with_crate<crate_pulldown_cmark, prose>},
    {"crate/quick-xml", with_crate<crate_quick_xml, xml_text>},
    {"crate/regex", with_crate<crate_regex, prose>},
    {"crate/serde_json", with_crate<crate_serde_json, json_text>},
    {"crate/toml", with_crate<crate_toml, toml_text>},
};

std::vector<void*> left;

void live_through(unsigned history) {
  std::mt19937 random(history);
  for (unsigned step = 0; step < 2000 + random() % 3000; ++step) {
    if (left.empty() || random() % 5 < 3)
      left.push_back(std::malloc(random() % 8 == 0 ? random() % 200'000 : random() % 2000));
    else {
      std::swap(left[random() % left.size()], left.back());
      std::free(left.back());
      left.pop_back();
    }
  }
}

}  // namespace

int main() {
  write_texts();
  std::size_t sum = 0;
  for (unsigned history = 0; history < 11; ++history) {
    live_through(history);
    for (const benchmark& each : benchmarks) {
      CALLGRIND_ZERO_STATS;
      sum += each.run();
      // The first time, libraries prepare what they keep.
      CALLGRIND_DUMP_STATS_AT(history > 0 ? each.name : "prepared");
    }
  }
  return sum == 0;
}
