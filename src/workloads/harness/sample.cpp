#include "workloads/harness/sample.h"

#include "probes/served_by.h"
#include "workloads/harness/value_text.h"

namespace heaplab::harness {

namespace {

constexpr std::uint64_t schema = 1;

void write_library(const char* name, const char* symbol, probes::json_line& json) {
  const probes::loaded_library library = probes::library_of_symbol(symbol);
  json.key(name).begin_object();
  json.key("path").value(library.path).key("build_id").value(library.build_id);
  json.end_object();
}

void write_series(const series& entry, probes::json_line& json) {
  json.key(entry.name()).begin_object().key("unit").value(entry.unit()).key("points").begin_array();
  for (const point& at : entry.points()) json.begin_array().value(at.time).value(at.value).end_array();
  json.end_array().end_object();
}

}  // namespace

void write_sample(const description& about, const option_table& options, const measurement& measured,
                  probes::json_line& json) {
  json.begin_object().key("schema").value(schema).key("workload").value(about.name);
  json.key("parameters").begin_object();
  for (const option& entry : options.options()) {
    json.key(entry.name);
    entry.write(json);
  }
  json.end_object().key("seed").value(measured.seed()).key("metrics").begin_object();
  for (const metric& entry : measured.metrics())
    json.key(entry.name)
        .begin_object()
        .key("value")
        .value(entry.value)
        .key("unit")
        .value(entry.unit)
        .end_object();
  json.end_object().key("series").begin_object();
  for (const series& entry : measured.all_series()) write_series(entry, json);
  json.end_object().key("served_by").begin_object();
  write_library("malloc", "malloc", json);
  write_library("operator new", probes::operator_new_symbol, json);
  json.end_object().end_object();
}

std::string summarise(const description& about, const measurement& measured) {
  std::string text =
      std::string(about.name) + ", malloc served by " + probes::library_of_symbol("malloc").path + "\n";
  for (const metric& entry : measured.metrics()) {
    std::string name = entry.name;
    name.resize(std::max<std::size_t>(name.size(), 28), ' ');
    text += "  " + name + " " + show_rounded(entry.value, entry.unit) + "\n";
  }
  return text;
}

}  // namespace heaplab::harness
