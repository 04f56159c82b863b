# The one library that is installed, lowtide::lowtide, made of every module's objects; static, or
# shared with BUILD_SHARED_LIBS.
add_library(lowtide)
add_library(lowtide::lowtide ALIAS lowtide)
set_target_properties(lowtide PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  VERIFY_INTERFACE_HEADER_SETS ON)
target_compile_features(lowtide PUBLIC cxx_std_20)
# Every header in that folder is public: what is not does not belong there.
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lowtide/*.h)
target_sources(lowtide PUBLIC
  FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${public_headers})

get_property(modules GLOBAL PROPERTY LOWTIDE_MODULES)
set(lowtide_links)
foreach(module IN LISTS modules)
  target_sources(lowtide PRIVATE $<TARGET_OBJECTS:${module}>)
  get_target_property(links ${module} LINK_LIBRARIES)
  list(APPEND lowtide_links ${links})
endforeach()
# Modules are inside already, and header-only libraries leave nothing to link.
list(FILTER lowtide_links EXCLUDE REGEX "^(lowtide_|nlohmann_json::)")
list(REMOVE_DUPLICATES lowtide_links)
target_link_libraries(lowtide PRIVATE ${lowtide_links})
