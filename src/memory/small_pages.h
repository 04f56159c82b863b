// What the system shall not put on huge pages.
#pragma once

namespace lowtide::memory {

// Advises the system against huge pages for all memory of the process that no file backs and no
// other advice is given for: heap, stacks, generated code. Where huge pages are the system's rule,
// it sooner or later puts such memory on them, holes included, and the process grows by several MiB
// that nobody asked for. Does nothing where that cannot be told.
void keep_pages_small();

}  // namespace lowtide::memory
