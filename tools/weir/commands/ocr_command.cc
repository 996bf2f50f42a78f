// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/measure.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/ocr.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/io/file.h"
#include "tools/weir/io/image.h"
#include "tools/weir/ocr/draw.h"
#include "tools/weir/ocr/text_lines.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

double milliseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

// Where the time of one image goes.
struct Stages {
  int64_t decode_ns = 0;
  int64_t detect_prepare_ns = 0;
  int64_t detect_ns = 0;
  int64_t boxes_ns = 0;
  int64_t recognise_prepare_ns = 0;
  int64_t recognise_ns = 0;
  int64_t draw_ns = 0;
};

// A width of the recogniser that a line asked for, and what it took to make it ready.
struct PreparedWidth {
  int width = 0;
  PrepareReport report;
};

struct Page {
  std::string path;
  std::vector<TextLine> lines;
  Size detection;
  std::vector<PreparedWidth> prepared;
  std::string picture;
  Stages stages;
};

std::span<float> floats(const TensorView& view) {
  return {view.as<float>(), static_cast<size_t>(view.element_count())};
}

class Reader {
 public:
  explicit Reader(const OcrOptions& options) : options_(options) {}

  Result<void> run() {
    trace_ = make_trace(options_.trace);
    return write_trace(trace_, options_.trace, read_all());
  }

 private:
  Result<void> read_all() {
    const TraceSpan span(trace_.get(), "weir ocr");
    WEIR_ASSIGN(Ref<Device> device, open_device(options_.runner));
    EngineOptions engine;
    engine.trace = trace_;
    engine.runner = options_.runner;
    engine.model = options_.detector;
    WEIR_ASSIGN(detector_, open_engine(engine, device), "while opening the detector");
    engine.model = options_.recogniser;
    WEIR_ASSIGN(recogniser_, open_engine(engine, device), "while opening the recogniser");
    WEIR_TRY(read_charset());
    WEIR_ASSIGN(detect_request_, detector_.session->create_request({.trace = trace_}));
    WEIR_ASSIGN(recognise_request_, recogniser_.session->create_request({.trace = trace_}));
    if (!options_.output.empty()) {
      WEIR_TRY(make_folder(options_.output));
    }
    Progress progress("Reading", static_cast<int64_t>(options_.images.size()));
    for (const std::string& path : options_.images) {
      WEIR_ASSIGN(Page page, read_page(path), "while reading the text on '{}'", path);
      pages_.push_back(std::move(page));
      progress.update(static_cast<int64_t>(pages_.size()));
    }
    return report();
  }

  Result<void> read_charset() {
    const auto characters = [](const Engine& engine) -> const std::string* {
      for (const auto& [key, value] : engine.session->program().metadata) {
        if (key == "character") return &value;
      }
      return nullptr;
    };
    if (const std::string* value = characters(recogniser_)) {
      charset_ = charset_from_metadata(*value);
      return {};
    }
    return fail(
        StatusCode::kInvalidArgument,
        "Model '{}' names no characters (metadata entry 'character'), so its answers cannot be read{}.",
        options_.recogniser,
        characters(detector_) != nullptr
            ? fmt::format("; '{}' names some: the detector comes first, then the recogniser",
                          options_.detector)
            : "");
  }

  Result<Page> read_page(const std::string& path) {
    Page page;
    page.path = path;
    int64_t begin = steady_now_ns();
    const TraceSpan span(trace_.get(), "photo");
    const auto lap = [&begin, this](int64_t& stage, std::string_view name) {
      const int64_t now = steady_now_ns();
      stage += now - begin;
      add_stage(name, begin, now);
      begin = now;
    };
    WEIR_ASSIGN(Image decoded, read_image(path));
    const Image image = to_rgb(std::move(decoded));
    lap(page.stages.decode_ns, "decode");

    page.detection = detection_input_size(image.width, image.height);
    WEIR_TRY(detect_request_->prepare({{{1, 3, page.detection.height, page.detection.width}}}));
    lap(page.stages.detect_prepare_ns, "prepare detector");
    WEIR_ASSIGN(const TensorView detection_input, detect_request_->input(0));
    WEIR_TRY(fill_detection_input(image, page.detection, floats(detection_input)));
    WEIR_TRY(detect_request_->run());
    lap(page.stages.detect_ns, "detect");
    WEIR_ASSIGN(const TensorView probability, detect_request_->output(0));
    WEIR_ASSIGN(const std::vector<TextBox> boxes,
                quads_from_probability(floats(probability), page.detection, image.width, image.height));
    lap(page.stages.boxes_ns, "boxes");
    for (const TextBox& box : boxes) {
      WEIR_TRY(read_line(image, box, page));
    }
    begin = steady_now_ns();
    sort_lines(page.lines);
    if (!options_.output.empty()) {
      WEIR_ASSIGN(const Image picture, draw_result(image, page.lines));
      page.picture = picture_path(path);
      WEIR_TRY(write_png(page.picture, picture));
      lap(page.stages.draw_ns, "draw");
    }
    return page;
  }

  // In the output folder, under the photo's name; numbered where another photo has the same.
  std::string picture_path(const std::string& photo) const {
    const std::string stem = options_.output + "/" + std::filesystem::path(photo).stem().string();
    std::string path = stem + ".png";
    for (int number = 2; std::ranges::find(pages_, path, &Page::picture) != pages_.end(); ++number) {
      path = fmt::format("{}-{}.png", stem, number);
    }
    return path;
  }

  Result<void> read_line(const Image& image, const TextBox& box, Page& page) {
    const Result<Image> crop = crop_line(image, box.quad);
    if (!crop && crop.error().code() == StatusCode::kOutOfRange) {
      return {};  // too small to hold a character
    }
    if (!crop) {
      return std::unexpected(crop.error());
    }
    const TraceSpan span(trace_.get(), "line");
    const int64_t begin = steady_now_ns();
    const int width = recognition_width(*crop);
    WEIR_TRY(recognise_request_->prepare({{{1, 3, kRecognitionHeight, width}}}));
    if (!recognise_request_->prepare_report().cached) {
      page.prepared.push_back({width, recognise_request_->prepare_report()});
    }
    const int64_t prepared = steady_now_ns();
    page.stages.recognise_prepare_ns += prepared - begin;
    WEIR_ASSIGN(const TensorView input, recognise_request_->input(0));
    WEIR_TRY(fill_recognition_input(*crop, width, floats(input)));
    WEIR_TRY(recognise_request_->run());
    WEIR_ASSIGN(const TensorView scores, recognise_request_->output(0));
    WEIR_ASSIGN(const DecodedText decoded, ctc_decode(floats(scores), scores.shape[1], charset_));
    if (decoded.confidence >= kLeastConfidence && !decoded.text.empty()) {
      page.lines.push_back({box.quad, decoded.text, decoded.confidence});
    }
    page.stages.recognise_ns += steady_now_ns() - prepared;
    return {};
  }

  void add_stage(std::string_view name, int64_t begin, int64_t end) {
    if (trace_) {
      trace_->add_part(trace_->text(name), begin, end - begin);
    }
  }

  Result<void> report() const {
    Ledger planned;
    Ledger counted;
    for (const Request* request : {detect_request_.get(), recognise_request_.get()}) {
      if (request->is_prepared()) {
        WEIR_ASSIGN(const Ledger one, request->planned());
        add(planned, one);
        add(counted, request->counted());
      }
    }
    return options_.json ? report_json(planned, counted) : report_text(planned, counted);
  }

  static void add(Ledger& sum, const Ledger& one) {
    sum.constants += one.constants;
    sum.activations += one.activations;
    sum.workspace += one.workspace;
    sum.scratch += one.scratch;
    sum.io += one.io;
    sum.state += one.state;
    sum.host += one.host;
  }

  static std::vector<std::pair<std::string_view, int64_t>> stages_of(const Page& page) {
    return {{"decode", page.stages.decode_ns},
            {"prepare detector", page.stages.detect_prepare_ns},
            {"detect", page.stages.detect_ns},
            {"boxes", page.stages.boxes_ns},
            {"prepare recogniser", page.stages.recognise_prepare_ns},
            {"recognise", page.stages.recognise_ns},
            {"draw", page.stages.draw_ns}};
  }

  Result<void> report_json(const Ledger& planned, const Ledger& counted) const {
    ordered_json json;
    json["recipe"] = {{"shorter_side", 736},
                      {"multiple", 32},
                      {"channels", "BGR"},
                      {"normalise", "(x/255 - 0.5)/0.5"},
                      {"pixel_threshold", DetectionOptions{}.pixel_threshold},
                      {"dilation", {2, 2}},
                      {"box_threshold", DetectionOptions{}.box_threshold},
                      {"unclip", DetectionOptions{}.grow},
                      {"crop", "perspective, cubic"},
                      {"line_height", kRecognitionHeight},
                      {"least_line_width", 320},
                      {"decoding", "CTC"},
                      {"least_confidence", kLeastConfidence}};
    json["device"] = describe(*detector_.device, options_.runner);
    json["images"] = ordered_json::array();
    for (const Page& page : pages_) {
      ordered_json entry = {{"image", page.path},
                            {"detection_size", {page.detection.width, page.detection.height}},
                            {"lines", ordered_json::array()},
                            {"prepared_widths", ordered_json::array()},
                            {"milliseconds", ordered_json::object()}};
      for (const TextLine& line : page.lines) {
        ordered_json quad = ordered_json::array();
        for (const PointF& corner : line.quad) {
          quad.push_back({corner.x, corner.y});
        }
        entry["lines"].push_back({{"text", line.text}, {"confidence", line.confidence}, {"quad", quad}});
      }
      for (const PreparedWidth& prepared : page.prepared) {
        entry["prepared_widths"].push_back(
            {{"width", prepared.width},
             {"expressions_us", static_cast<double>(prepared.report.expressions_ns) * 1e-3},
             {"placement_us", static_cast<double>(prepared.report.placement_ns) * 1e-3},
             {"recording_us", static_cast<double>(prepared.report.recording_ns) * 1e-3},
             {"growth_us", static_cast<double>(prepared.report.growth_ns) * 1e-3}});
      }
      for (const auto& [stage, time] : stages_of(page)) {
        entry["milliseconds"][std::string(stage)] = milliseconds(time);
      }
      if (!page.picture.empty()) {
        entry["picture"] = page.picture;
      }
      json["images"].push_back(std::move(entry));
    }
    json["planned"] = to_json(lines_of(planned));
    json["counted"] = to_json(lines_of(counted));
    print_json(json);
    return {};
  }

  Result<void> report_text(const Ledger& planned, const Ledger& counted) const {
    std::string text;
    for (const Page& page : pages_) {
      text += fmt::format("{} ({} lines)\n", page.path, page.lines.size());
      for (const TextLine& line : page.lines) {
        text += fmt::format("  {:.3f}  ({:4.0f},{:4.0f})  {}\n", line.confidence, line.quad[0].x,
                            line.quad[0].y, line.text);
      }
      text += "  time:";
      for (const auto& [stage, time] : stages_of(page)) {
        text += fmt::format(" {} {:.1f} ms,", stage, milliseconds(time));
      }
      text.back() = '\n';
      for (const PreparedWidth& prepared : page.prepared) {
        const PrepareReport& report = prepared.report;
        text += fmt::format(
            "  prepared width {}: {:.2f} ms without the compiler, then {:.2f} ms for memory\n",
            prepared.width, milliseconds(report.expressions_ns + report.placement_ns + report.recording_ns),
            milliseconds(report.growth_ns));
      }
      if (!page.picture.empty()) {
        text += fmt::format("  drawn: {}\n", page.picture);
      }
    }
    text += fmt::format(
        "memory: planned {} {} counted {} (constants {}, activations {}, workspace {}, scratch {}, inputs "
        "and outputs {}, "
        "host {})\n",
        format_bytes(planned.total()), planned == counted ? "=" : "≠", format_bytes(counted.total()),
        format_bytes(counted.constants), format_bytes(counted.activations), format_bytes(counted.workspace),
        format_bytes(counted.scratch), format_bytes(counted.io), format_bytes(counted.host));
    print(text);
    return {};
  }

  const OcrOptions& options_;
  Ref<Tracer> trace_;
  Engine detector_;
  Engine recogniser_;
  Ref<Request> detect_request_;
  Ref<Request> recognise_request_;
  std::vector<std::string> charset_;
  std::vector<Page> pages_;
};

}  // namespace

int ocr_command(const OcrOptions& options) {
  return exit_code(Reader(options).run(), options.json);
}

}  // namespace weir::cli
