// A module of redis whose command `visit` works like a server's own: pages in a cache of bounded size, blocks
// that live as long as the request, and of every eighth visitor a block that nobody frees.
#include <stdlib.h>
#include <string.h>

enum { CACHED = 128, PAGE = 3000, WORK = 2000, VISITOR = 400, EVERY = 8 };

#define SITE(name)                                            \
  __attribute__((noinline)) static void* name(size_t bytes) { \
    return memset(malloc(bytes), 1, bytes);                   \
  }
SITE(cached_page)
SITE(parsed_request)
SITE(remembered_visitor)

static int (*reply)(void* context, long long number);

static int visit(void* context, void** words, int count) {
  static void* pages[CACHED];
  static unsigned visits;
  (void)words, (void)count;
  void* const request = parsed_request(WORK);
  free(pages[++visits % CACHED]);
  pages[visits % CACHED] = cached_page(PAGE);
  if (visits % EVERY == 0) remembered_visitor(VISITOR);
  free(request);
  return reply(context, visits);
}

// What redismodule.h does.
int RedisModule_OnLoad(void* context) {
  int (*const api)(const char*, void*) = *(int (**)(const char*, void*))context;
  void (*name)(void*, const char*, int, int);
  int (*add)(void*, const char*, int (*)(void*, void**, int), const char*, int, int, int);
  api("RedisModule_SetModuleAttribs", &name);
  api("RedisModule_CreateCommand", &add);
  api("RedisModule_ReplyWithLongLong", &reply);
  name(context, "forgetful", 1, 1);
  return add(context, "visit", visit, "", 0, 0, 0);
}
