#include "workloads/harness/program.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/text_line.h"
#include "probes/json_line.h"
#include "workloads/harness/command_line.h"
#include "workloads/harness/destination.h"
#include "workloads/harness/sample.h"
#include "workloads/harness/stamp.h"
#include "workloads/harness/usage_error.h"

namespace heaplab::harness {

namespace {

enum exit_status { done = 0, failed = 1, wrong_usage = 2 };

// Writes all of the text in as few system calls as possible. The text is for people: losing it spoils no
// result, but the loss is reported.
void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw run_error(std::string("writing to standard output failed: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void measure(workload& work, const description& about, const option_table& options, const request& wanted) {
  const destination where("--json", wanted.json);
  measurement measured(wanted.services, work.sizes());
  work.run(measured);
  measured.release_aged_heap();
  measured.measure_memory_left();
  measured.add_latency_metrics();
  measured.add_pitfall_metric();
  if (!measured.was_stopped()) throw run_error("self-check failed: the clock was never stopped");
  if (measured.failed_check() != nullptr)
    throw run_error(std::string("self-check failed: ") + measured.failed_check());
  if (where.wanted()) {
    probes::json_line json;
    write_sample(about, options, measured, json);
    where.write(json.end_line().text());
  }
  if (!where.is_standard_output()) print(summarise(about, measured));
}

int complain(const description& about, const char* what, exit_status status) {
  std::string line = std::string(about.name) + ": " + what + "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
  return status;
}

}  // namespace

void out_of_memory(std::size_t bytes) {
  text_line line;
  line.add("the heap under test gave no memory for a block of ").add_decimal(bytes).add(" bytes");
  line.write_to(STDERR_FILENO);
  ::_exit(failed);
}

void broken_block(block broken, const char* what) {
  text_line line;
  line.add("self-check failed: the block of ").add_decimal(broken.bytes).add(" bytes at ");
  line.add_address(broken.start).add(" ").add(what);
  line.write_to(STDERR_FILENO);
  ::_exit(failed);
}

void broken_contents(const char* what) {
  text_line line;
  line.add("self-check failed: ").add(what);
  line.write_to(STDERR_FILENO);
  ::_exit(failed);
}

int run_program(workload& work, int argc, char** argv) {
  // write() then fails with EPIPE, and a closed pipe is reported like a full disk
  ::signal(SIGPIPE, SIG_IGN);
  const description about = work.describe();
  try {
    option_table options;
    request wanted;
    work.declare(options);
    read_command_line(about, options, wanted, argc, argv);
    if (!wanted.text.empty()) {
      print(wanted.text);
      return done;
    }
    memory_requirements requirements(wanted.estimate);
    work.check(options);
    if (wanted.estimate) {
      print("{\"memory\":" + std::to_string(requirements.bytes()) + "}\n");
      return done;
    }
    measure(work, about, options, wanted);
    return done;
  } catch (const usage_error& error) {
    return complain(about, error.what(), wrong_usage);
  } catch (const std::bad_alloc&) {
    return complain(about, "out of memory", failed);
  } catch (const std::exception& error) {
    return complain(about, error.what(), failed);
  }
}

}  // namespace heaplab::harness
