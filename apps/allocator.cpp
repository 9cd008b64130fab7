// How jemalloc, which all programs link, uses memory. It reads this name when it starts.

/// The state of a large cluster is a gigabyte of small things that are read in any order: with huge
/// pages the processor finds them an eighth sooner. Memory that is given back is kept for a while,
/// as the next decision takes as much.
extern "C" const char* malloc_conf;
const char* malloc_conf =
  "thp:always,metadata_thp:auto,dirty_decay_ms:30000,muzzy_decay_ms:30000,lg_tcache_max:16";
