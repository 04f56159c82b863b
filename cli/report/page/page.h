// The parts of the report's page, from the files beside this one.
#pragma once

#include <string_view>

namespace lowtide::cli {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace lowtide::cli
