// A count of bytes does not turn into other integers, nor they into it.
#include "lowtide/bytes.h"

namespace lowtide {

Bytes right(std::int64_t elements) { return elements * Bytes(4) + Bytes(64); }

#ifdef LT_BYTES_FROM_INTEGER
Bytes wrong() { return 64; }
#endif
#ifdef LT_INTEGER_FROM_BYTES
std::int64_t wrong(Bytes bytes) { return bytes; }
#endif
#ifdef LT_BYTES_PLUS_INTEGER
Bytes wrong(Bytes bytes) { return bytes + 64; }
#endif
#ifdef LT_BYTES_TIMES_BYTES
Bytes wrong(Bytes bytes) { return bytes * bytes; }
#endif

}  // namespace lowtide
