// JPEG through libjpeg-turbo.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "core/check.h"
#include "core/text.h"
#include "data/image/exif.h"
#include "data/image/guarded_reader.h"
#include "data/versions.h"

namespace lowtide::data {
namespace {

constexpr std::size_t kInput = 16 * 1024;
// A progressive file has about ten scans; more than this many only cost time.
constexpr int kMostScans = 64;
constexpr Bytes kFixedMemory = Bytes(256 * 1024);

class JpegReader final : public GuardedReader {
 public:
  explicit JpegReader(const ByteSource& file);
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() override { jpeg_destroy_decompress(&jpeg_); }

  int start(int channels, int reduction) override;
  void read_row(std::span<std::uint8_t> row) override;
  void skip_rows(std::int64_t rows) override;
  void finish() override;

 private:
  static JpegReader& of(j_common_ptr jpeg) { return *static_cast<JpegReader*>(jpeg->client_data); }
  static JpegReader& of(j_decompress_ptr jpeg) {
    return *static_cast<JpegReader*>(jpeg->client_data);
  }

  void set_callbacks();
  [[nodiscard]] Bytes coefficients() const;
  void convert_cmyk(std::span<std::uint8_t> row) const;

  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
  std::array<std::byte, kInput> input_ = {};
  int channels_ = 0;
  std::vector<std::uint8_t> cmyk_;  // one row, where the file has four colours
};

void JpegReader::set_callbacks() {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = [](j_common_ptr jpeg) {
    JpegReader& self = of(jpeg);
    static_assert(JMSG_LENGTH_MAX <= kLongestMessage);
    jpeg->err->format_message(jpeg, self.message().data());
    self.jump();
  };
  errors_.output_message = [](j_common_ptr) {};
  // Damaged pixels are an error; bytes between markers and odd version numbers are not.
  errors_.emit_message = [](j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR ||
                          code == JWRN_ADOBE_XFORM || code == JWRN_TOO_MUCH_DATA;
    if (level < 0 && !harmless) jpeg->err->error_exit(jpeg);
  };
  source_.init_source = [](j_decompress_ptr) {};
  source_.term_source = [](j_decompress_ptr) {};
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.fill_input_buffer = [](j_decompress_ptr jpeg) -> boolean {
    JpegReader& self = of(jpeg);
    const std::int64_t left = (self.file_.size() - self.at_).count();
    const auto count = static_cast<std::size_t>(
        std::clamp(left, std::int64_t{0}, static_cast<std::int64_t>(kInput)));
    if (count == 0 || !self.take(std::span(self.input_).first(count))) {
      ERREXIT(jpeg, JERR_INPUT_EOF);
    }
    self.source_.next_input_byte = reinterpret_cast<const JOCTET*>(self.input_.data());
    self.source_.bytes_in_buffer = count;
    return TRUE;
  };
  source_.skip_input_data = [](j_decompress_ptr jpeg, long count) {
    JpegReader& self = of(jpeg);
    const auto wanted = static_cast<std::size_t>(std::max(count, 0L));
    const std::size_t here = std::min(wanted, self.source_.bytes_in_buffer);
    self.source_.next_input_byte += here;
    self.source_.bytes_in_buffer -= here;
    self.at_ += Bytes(static_cast<std::int64_t>(wanted - here));
  };
  progress_.progress_monitor = [](j_common_ptr jpeg) {
    JpegReader& self = of(jpeg);
    if (self.jpeg_.input_scan_number > kMostScans) {
      std::snprintf(self.message().data(), self.message().size(), "more than %d scans", kMostScans);
      self.jump();
    }
  };
}

JpegReader::JpegReader(const ByteSource& file) : GuardedReader(file) {
  set_callbacks();
  const auto read_header = [this] {
    jpeg_create_decompress(&jpeg_);
    jpeg_.client_data = this;
    jpeg_.src = &source_;
    jpeg_.progress = &progress_;
    jpeg_read_header(&jpeg_, TRUE);
    jpeg_calc_output_dimensions(&jpeg_);
  };
  jpeg_.client_data = this;
  try {
    guarded(read_header);
    size_ = {.width = jpeg_.image_width, .height = jpeg_.image_height};
    check_image_size(file_, size_);
    upright_ = turn_of_jpeg(file_);
    if (jpeg_.data_precision != 8) {
      throw core::fail(ErrorCode::kUnsupported, "{}: a JPEG of {} bits a channel", file_.name(),
                       jpeg_.data_precision);
    }
    // Of rows, the decoder holds a few blocks' worth for each channel.
    constexpr std::int64_t kRowsHeld = 64;
    memory_ = kFixedMemory + Bytes(size_.width * kRowsHeld * jpeg_.num_components);
    if (jpeg_has_multiple_scans(&jpeg_) != 0) {
      check_image_memory(file_, coefficients());
      memory_ += coefficients();
    }
    jpeg_.mem->max_memory_to_use = memory_.count();
  } catch (const Error&) {
    jpeg_destroy_decompress(&jpeg_);
    throw;
  }
}

// All of them, as a file with several scans needs.
Bytes JpegReader::coefficients() const {
  constexpr std::int64_t kBlock = 8;
  std::int64_t blocks = 0;
  for (int i = 0; i < jpeg_.num_components; ++i) {
    const jpeg_component_info& part = jpeg_.comp_info[i];
    const auto along = [](std::int64_t pixels, std::int64_t samples, std::int64_t most) {
      const std::int64_t units = (pixels + most * kBlock - 1) / (most * kBlock);
      return units * samples;
    };
    blocks += along(size_.width, part.h_samp_factor, jpeg_.max_h_samp_factor) *
              along(size_.height, part.v_samp_factor, jpeg_.max_v_samp_factor);
  }
  return Bytes(blocks * kBlock * kBlock * static_cast<std::int64_t>(sizeof(JCOEF)));
}

int JpegReader::start(int channels, int reduction) {
  channels_ = channels;
  const bool four = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
  jpeg_.out_color_space = four ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  // The library makes no grey of red, green and blue.
  const bool stored_rgb = jpeg_.jpeg_color_space == JCS_RGB;
  if (stored_rgb) jpeg_.out_color_space = JCS_RGB;
  jpeg_.scale_num = 1;
  jpeg_.scale_denom = static_cast<unsigned>(reduction);
  jpeg_.dct_method = JDCT_ISLOW;
  guarded([this] { jpeg_start_decompress(&jpeg_); });
  const std::int64_t width = jpeg_.output_width;
  if (jpeg_.output_components != channels) {
    cmyk_.resize(static_cast<std::size_t>(width * jpeg_.output_components));
  }
  return reduction;
}

void JpegReader::read_row(std::span<std::uint8_t> row) {
  LT_CHECK(row.size() == std::size_t{jpeg_.output_width} * static_cast<std::size_t>(channels_),
           "room for a row");
  JSAMPROW into = cmyk_.empty() ? row.data() : cmyk_.data();
  guarded([this, &into] { jpeg_read_scanlines(&jpeg_, &into, 1); });
  if (!cmyk_.empty()) convert_cmyk(row);
}

void JpegReader::skip_rows(std::int64_t rows) {
  guarded([this, rows] { jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(rows)); });
}

void JpegReader::finish() {
  guarded([this] { jpeg_finish_decompress(&jpeg_); });
}

// From four colours, or from red, green and blue, to the channels that are wanted. Adobe's programs
// store inks inverted.
void JpegReader::convert_cmyk(std::span<std::uint8_t> row) const {
  const auto parts = static_cast<std::size_t>(jpeg_.output_components);
  const bool inverted = jpeg_.saw_Adobe_marker != FALSE;
  const auto channels = static_cast<std::size_t>(channels_);
  for (std::size_t x = 0; x < row.size() / channels; ++x) {
    std::array<unsigned, 3> light = {};
    for (std::size_t c = 0; c < 3; ++c) {
      unsigned value = cmyk_[x * parts + c];
      if (parts == 4) {
        const unsigned black = cmyk_[x * parts + 3];
        const unsigned paper = inverted ? value * black : (255 - value) * (255 - black);
        value = (paper + 127) / 255;
      }
      light[c] = value;
    }
    if (channels == 1) {
      row[x] = static_cast<std::uint8_t>((299 * light[0] + 587 * light[1] + 114 * light[2] + 500) /
                                         1000);
    } else {
      for (std::size_t c = 0; c < 3; ++c) row[x * 3 + c] = static_cast<std::uint8_t>(light[c]);
    }
  }
}

}  // namespace

// The library has no function for it; what is loaded may differ in the last number only.
std::string jpeg_version() {
  const int number = LIBJPEG_TURBO_VERSION_NUMBER;
  return core::text("{}.{}.{}", number / 1'000'000, number / 1000 % 1000, number % 1000);
}

std::unique_ptr<ImageReader> open_jpeg(const ByteSource& file) {
  return std::make_unique<JpegReader>(file);
}

}  // namespace lowtide::data
