// A library that needs a little of the thread-local memory which the loader keeps for libraries loaded late.
extern "C" {
[[gnu::tls_model("initial-exec")]] thread_local long filler[4];
long* address_of_filler() {
  return filler;
}
}
