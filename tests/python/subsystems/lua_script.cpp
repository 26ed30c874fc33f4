// Lua runs a script, with the allocator of the C library or with a multipool.
//
//   lua_script plain|local SCRIPT WORD...
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "heaplab/local/local.h"

namespace {

using pools = heaplab::local::multipool<>;
constexpr std::size_t alignment = alignof(std::max_align_t);

// A lua_Alloc: allocates, frees (`bytes` is 0) and moves; `old` is no size where there is no block.
void* serve(void* by, void* block, std::size_t old, std::size_t bytes) {
  auto& from = *static_cast<pools*>(by);
  void* const made = bytes == 0 ? nullptr : from.allocate(bytes, alignment);
  if (block == nullptr) return made;
  if (made != nullptr) std::memcpy(made, block, std::min(old, bytes));
  from.deallocate(block, old, alignment);
  return made;
}

}  // namespace

int main(int count, char** words) {
  const bool local = std::string_view(words[1]) == "local";
  pools own;
  lua_State* const state = local ? lua_newstate(serve, &own) : luaL_newstate();
  luaL_openlibs(state);
  lua_createtable(state, count, 0);
  for (int i = 2; i < count; ++i) {
    lua_pushstring(state, words[i]);
    lua_rawseti(state, -2, i - 2);
  }
  lua_setglobal(state, "arg");
  const bool failed = luaL_dofile(state, words[2]);
  if (failed) std::fprintf(stderr, "%s\n", lua_tostring(state, -1));
  lua_close(state);
  return failed;
}
