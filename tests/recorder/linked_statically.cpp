// No library can be preloaded into this program.
int main() {
  return 7;
}
