// The first call of malloc in this program is made by setlocale: nothing of C++ is linked that calls it
// earlier. If the first setlocale leaves its lock in disorder, a later one never returns.
#include <clocale>
#include <initializer_list>

int main() {
  for (const int category : {LC_TIME, LC_CTYPE, LC_ALL}) std::setlocale(category, "C.UTF-8");
}
