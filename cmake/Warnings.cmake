# The warnings every target of the project is built with. They are errors in the presets only
# (CMAKE_COMPILE_WARNING_AS_ERROR), so that a user's newer compiler never fails to build.
add_library(lowtide_warnings INTERFACE)
target_compile_options(
  lowtide_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
            -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
            -Wno-missing-field-initializers)
# clang takes even double{x} for an implicit promotion.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(lowtide_warnings INTERFACE -Wdouble-promotion)
endif()
# g++ 12 sees overlapping copies in optimised "a" + std::string (GCC bug 105329), and members of
# vectors in moved temporaries as uninitialised.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(lowtide_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
