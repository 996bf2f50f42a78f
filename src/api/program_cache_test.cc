// SPDX-License-Identifier: Apache-2.0
//
// The program cache under adversity: several processes, damaged entries, folders that cannot be written,
// models that change. What is opened is always the model that lies there; the cache never makes an open fail.
#include "api/program_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/model.h"
#include "base/atomic_file.h"
#include "base/testing/unprivileged.h"
#include "import/testing/model_builder.h"
#include "kernels/custom/custom.h"
#include "op/custom_operator.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "program_cache_test_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.cache_folder = folder_ + "/cache";
    path_ = folder_ + "/model.onnx";
    write_model(path_, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // y = x + w with w = (first, 2, 3, …).
  static std::string bytes_of_model(float first, int64_t count = 2) {
    weir::testing::ModelBuilder model(17);
    std::vector<float> weights;
    for (int64_t i = 0; i < count; ++i) {
      weights.push_back(i == 0 ? first : static_cast<float>(i + 1));
    }
    model.input("x", onnx::TensorProto::FLOAT, {std::to_string(count)});
    model.floats("w", {count}, weights);
    model.node("Add", {"x", "w"}, {"y"});
    model.output("y");
    return model.bytes();
  }
  static void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void write_model(const std::string& path, float first, int64_t count = 2) {
    write_file(path, bytes_of_model(first, count));
  }
  static float first_weight(const Model& model) {
    float first = 0;
    for (const Storage& storage : model.loaded.program.storages) {
      if (storage.kind == StorageKind::kConstant) {
        std::memcpy(&first, model.loaded.constants.data() + storage.offset, sizeof(first));
      }
    }
    return first;
  }
  Model open() const { return open(path_); }
  Model open(const std::string& path) const {
    auto model = open_model(path, options_);
    EXPECT_TRUE(model) << model.error().to_string();
    return model ? *std::move(model) : Model{};
  }
  std::vector<std::string> files(std::string_view ending) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(options_.cache_folder)) {
      if (entry.path().string().ends_with(ending)) {
        found.push_back(entry.path());
      }
    }
    return found;
  }
  static std::vector<std::string> whats(const Model& model) {
    std::vector<std::string> all;
    for (const ModelNotice& notice : model.notices) {
      all.push_back((notice.cost ? "cost " : "info ") + notice.what);
    }
    return all;
  }
  // As long ago as that, in seconds.
  static void set_age(const std::string& path, int64_t seconds) {
    const timespec then = {::time(nullptr) - seconds, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string folder_;
  std::string path_;
  ModelOptions options_;
};

// Gives what it takes. Where it is asked for a shape, which is while its model is compiled, a process that
// has joined says so, and goes on once all are let go.
class Meeting final : public CustomOperator {
 public:
  Meeting()
      : CustomOperator({.domain = "com.example", .name = "Meeting"}),
        implementation_(custom_implementation(*this)) {}
  const Implementation& implementation() const override { return implementation_; }
  void run(const CustomCall&) const override {}

  // `here` takes a byte of each process, `go` ends when all are let go.
  void join(int here, int go) {
    here_ = here;
    go_ = go;
  }
  void arrive(char how) const {
    if (here_ >= 0) {
      (void)!::write(here_, &how, 1);
      ::close(std::exchange(here_, -1));
      (void)!::read(go_, &how, 1);
    }
  }

 protected:
  Result<std::vector<TensorType>> shape(const CustomAttributes&, std::span<const TensorType* const> inputs,
                                        std::string_view, std::vector<Constraint>&) const override {
    arrive('c');
    return std::vector<TensorType>{{inputs[0]->element_type, inputs[0]->shape, {}}};
  }
  Result<CustomPlan> plan(const ConcreteOp&, std::string_view) const override { return CustomPlan{}; }
  Result<CustomExtent> extent(const ConcreteOp&, std::string_view) const override { return CustomExtent{}; }

 private:
  Implementation implementation_;
  mutable int here_ = -1;
  mutable int go_ = -1;
};

// What happened in a folder, in order.
class FolderEvents {
 public:
  explicit FolderEvents(const std::string& folder) : descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(descriptor_, folder.c_str(), IN_CREATE | IN_MOVED_FROM | IN_DELETE), 0);
  }
  FolderEvents(const FolderEvents&) = delete;
  FolderEvents& operator=(const FolderEvents&) = delete;
  ~FolderEvents() { ::close(descriptor_); }

  // Of the files aside: how many there were, and the most at one time.
  std::pair<int, int> asides() const {
    int all = 0;
    int now = 0;
    int most = 0;
    alignas(inotify_event) std::array<char, 1 << 16> buffer;
    for (ssize_t size = 0; (size = ::read(descriptor_, buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
        if (event->len == 0 || !std::string_view(event->name).ends_with(".tmp")) {
          continue;
        }
        const bool created = (event->mask & IN_CREATE) != 0;
        all += created ? 1 : 0;
        now += created ? 1 : -1;
        most = std::max(most, now);
      }
    }
    return {all, most};
  }

 private:
  int descriptor_;
};

// None looks into the cache after another has written: each is held in its compiling until all are there.
// They write when the system lets them, so it is tried until two files aside were there at one time.
// Where others may write into the folder, a link of theirs must not lead a write elsewhere.
TEST_F(Cache, ALinkInAnEntrysPlaceIsReplaced) {
  EXPECT_TRUE(open().cached);
  const std::string entry = files(".weir").at(0);
  const std::string precious = folder_ + "/precious";
  std::ofstream(precious) << "kept";
  fs::remove(entry);
  fs::create_symlink(precious, entry);
  EXPECT_EQ(first_weight(open()), 1);
  EXPECT_FALSE(fs::is_symlink(entry));
  std::string text;
  std::ifstream(precious) >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(Cache, ManyProcessesMayCompileAndWriteAtOnce) {
  constexpr int kProcesses = 6;
  constexpr int kRounds = 50;
  const auto meeting = std::make_shared<Meeting>();
  options_.operators = CustomOperators::with(nullptr, meeting).value();
  weir::testing::ModelBuilder model(17);
  constexpr int64_t kCount = 1 << 18;  // 1 MiB of constants, whose writing takes a while
  std::vector<float> weights(kCount, 3);
  weights[0] = 1;
  model.input("x", onnx::TensorProto::FLOAT, {std::to_string(kCount)});
  model.floats("w", {kCount}, weights);
  onnx::OperatorSetIdProto& set = *model.proto().add_opset_import();
  set.set_domain("com.example");
  set.set_version(1);
  model.node("Meeting", {"x"}, {"met"}).set_domain("com.example");
  model.node("Add", {"met", "w"}, {"y"});
  model.output("y");
  write_file(path_, model.bytes());

  int most_at_once = 0;
  for (int round = 0; round < kRounds && most_at_once < 2; ++round) {
    fs::remove_all(options_.cache_folder);
    fs::create_directories(options_.cache_folder);
    const FolderEvents events(options_.cache_folder);
    std::array<int, 2> here;
    std::array<int, 2> go;
    ASSERT_EQ(::pipe(here.data()), 0);
    ASSERT_EQ(::pipe(go.data()), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ::alarm(60);  // where another dies before it arrives
        ::close(here[0]);
        ::close(go[1]);
        meeting->join(here[1], go[0]);
        const auto opened = open_model(path_, options_);
        meeting->arrive('-');  // where it did not compile
        ::_exit(opened && opened->compiled && opened->cached && first_weight(*opened) == 1 ? 0 : 1);
      }
      children.push_back(child);
    }
    ::close(here[1]);
    ::close(go[0]);
    std::string arrived;
    for (char how = 0; std::ssize(arrived) < kProcesses && ::read(here[0], &how, 1) == 1;) {
      arrived += how;
    }
    EXPECT_EQ(arrived, std::string(kProcesses, 'c'));
    EXPECT_EQ(events.asides(), std::pair(0, 0));
    ::close(go[1]);  // lets all go
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    ::close(here[0]);
    const auto [all, most] = events.asides();
    EXPECT_EQ(all, kProcesses);
    most_at_once = most;
    EXPECT_THAT(files(""), SizeIs(1));
    ASSERT_THAT(files(".weir"), SizeIs(1));
    options_.verify_cached = true;
    const Model again = open();
    EXPECT_FALSE(again.compiled);
    EXPECT_THAT(whats(again), IsEmpty());
    EXPECT_EQ(first_weight(again), 1);
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GE(most_at_once, 2);
}

TEST_F(Cache, AFolderThatCannotBeMadeIsToldAndNothingFails) {
  write_file(folder_ + "/file", "");
  options_.cache_folder = folder_ + "/file";
  Model model = open();
  EXPECT_TRUE(model.compiled);
  EXPECT_FALSE(model.cached);
  EXPECT_EQ(model.cache_note, "File '" + folder_ + "/file' cannot be made a folder: Not a directory.");
  EXPECT_EQ(first_weight(model), 1);
  options_.cache_folder = folder_ + "/file/below";
  model = open();
  EXPECT_EQ(model.cache_note, "File '" + folder_ + "/file/below' cannot be made a folder: Not a directory.");
  options_.cache_folder = "/proc/cache";
  model = open();
  EXPECT_THAT(model.cache_note, HasSubstr("File '/proc/cache' cannot be made a folder: "));
}

TEST_F(Cache, AFolderThatIsReadOnlyServesWhatItHas) {
  open();
  weir::testing::unprivileged(folder_, [this] {
    fs::permissions(options_.cache_folder, fs::perms::owner_read | fs::perms::owner_exec);
    const Model kept = open();
    EXPECT_FALSE(kept.compiled);
    EXPECT_TRUE(kept.cached);
    EXPECT_EQ(first_weight(kept), 1);
    write_model(path_, 5);
    const Model other = open();
    EXPECT_TRUE(other.compiled);
    EXPECT_EQ(first_weight(other), 5);
    EXPECT_FALSE(other.cached);
    EXPECT_THAT(other.cache_note, HasSubstr("File '" + options_.cache_folder + "/"));
    EXPECT_THAT(other.cache_note, HasSubstr(".weir' cannot be created: Permission denied."));
    fs::permissions(options_.cache_folder, fs::perms::owner_all);
    EXPECT_TRUE(open().cached);
  });
}

TEST_F(Cache, TheFolderIsForItsOwnerAlone) {
  options_.cache_folder = folder_ + "/a/b/c";
  EXPECT_TRUE(open().cached);
  EXPECT_EQ(fs::status(folder_ + "/a/b/c").permissions(), fs::perms::owner_all);
}

TEST_F(Cache, WithoutAHomeThereIsNoFolder) {
  for (const char* name : {"WEIR_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(default_cache_folder(), std::nullopt);
  options_.cache_folder.clear();
  const Model model = open();
  EXPECT_TRUE(model.compiled);
  EXPECT_EQ(model.cache_note, "there is no folder for it (set WEIR_CACHE)");
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(default_cache_folder(), "/home/somebody/.cache/weir");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_folder(), "/home/somebody/.cache/weir");
  ::setenv("XDG_CACHE_HOME", "/shared", 1);
  EXPECT_EQ(default_cache_folder(), "/shared/weir");
  ::setenv("WEIR_CACHE", "mine", 1);
  EXPECT_EQ(default_cache_folder(), "mine");
}

TEST_F(Cache, TheLimitComesFromTheEnvironment) {
  ::unsetenv("WEIR_CACHE_LIMIT");
  EXPECT_EQ(default_cache_bytes(), int64_t{2} << 30);
  ::setenv("WEIR_CACHE_LIMIT", "2000000", 1);
  EXPECT_EQ(default_cache_bytes(), 2000000);
  ::setenv("WEIR_CACHE_LIMIT", "500MiB", 1);
  EXPECT_EQ(default_cache_bytes(), 500 << 20);
  for (const char* wrong : {"many", "-1", "5 MiB", "5MB", "99999999999GiB", "1.5GiB"}) {
    ::setenv("WEIR_CACHE_LIMIT", wrong, 1);
    const auto bytes = default_cache_bytes();
    ASSERT_FALSE(bytes) << wrong;
    EXPECT_EQ(bytes.error().message(), "WEIR_CACHE_LIMIT is '" + std::string(wrong) +
                                           "', and it takes a number of bytes (B, KiB, MiB, GiB).");
  }
  EXPECT_FALSE(open_model(path_, options_));
  ::unsetenv("WEIR_CACHE_LIMIT");
}

TEST_F(Cache, ADamagedEntryIsCompiledAnewAndTold) {
  open();
  ASSERT_THAT(files(".weir"), SizeIs(1));
  const std::string entry = files(".weir").front();
  const std::string whole = read_file(entry);
  const auto expect_anew = [&](const std::string& what) {
    const Model model = open();
    EXPECT_TRUE(model.compiled) << what;
    EXPECT_TRUE(model.cached) << what;
    EXPECT_THAT(whats(model), ElementsAre("cost recompile")) << what;
    EXPECT_THAT(model.notices.front().reason,
                HasSubstr("the program in the cache cannot be used, so the model was compiled anew: "));
    EXPECT_EQ(first_weight(model), 1) << what;
    EXPECT_EQ(read_file(entry), whole) << what;  // compiling is deterministic
  };
  for (size_t i = 0; i < 12; ++i) {
    write_file(entry, whole.substr(0, whole.size() * i / 12));
    expect_anew("cut to " + std::to_string(whole.size() * i / 12));
  }
  for (size_t at = 0; at < 64; at += 3) {
    if (at >= 8 && at < 12) {
      continue;  // the version of the writer: a newer one may be readable
    }
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_file(entry, damaged);
    expect_anew("byte " + std::to_string(at));
  }
}

TEST_F(Cache, AnEntryOfALaterFormatIsCompiledAnew) {
  open();
  const std::string entry = files(".weir").front();
  std::string later = read_file(entry);
  later[8] = later[12] = 99;  // version, and the oldest reader
  write_file(entry, later);
  const Model model = open();
  EXPECT_TRUE(model.compiled);
  EXPECT_THAT(whats(model), ElementsAre("cost recompile"));
}

TEST_F(Cache, DamagedConstantsAreFoundWhereAskedFor) {
  const float weight = 1.2345F;  // found nowhere else in the file
  write_model(path_, weight);
  open();
  const std::string entry = files(".weir").front();
  std::string damaged = read_file(entry);
  const size_t at = damaged.rfind(std::string(reinterpret_cast<const char*>(&weight), sizeof(weight)));
  ASSERT_NE(at, std::string::npos);
  damaged[at] = static_cast<char>(damaged[at] ^ 1);
  write_file(entry, damaged);
  EXPECT_FALSE(open().compiled);  // reading all of them is for those who ask
  options_.verify_cached = true;
  EXPECT_THAT(whats(open()), ElementsAre("cost recompile"));
  EXPECT_FALSE(open().compiled);
}

TEST_F(Cache, AModelReplacedWhileInUseIsSeenByTheNext) {
  const Model before = open();
  write_model(folder_ + "/next", 7);
  fs::rename(folder_ + "/next", path_);
  const Model after = open();
  EXPECT_EQ(first_weight(after), 7);
  write_model(path_, 8);  // in place
  EXPECT_EQ(first_weight(open()), 8);
  fs::remove_all(options_.cache_folder);
  EXPECT_EQ(first_weight(before), 1);
  EXPECT_EQ(first_weight(after), 7);
}

TEST_F(Cache, ContentCountsWhereSizeAndTimeAreTheSame) {
  set_age(path_, 1000);
  EXPECT_EQ(first_weight(open()), 1);
  const auto size = fs::file_size(path_);
  write_model(path_, 9);
  set_age(path_, 1000);
  ASSERT_EQ(fs::file_size(path_), size);
  EXPECT_EQ(first_weight(open()), 9);
}

// The content of a file that has just been written is hashed each time: a second writing could come within
// the grain of the clock.
TEST_F(Cache, OnlyASettledFileIsRemembered) {
  open();
  EXPECT_THAT(files(".source"), IsEmpty());
}

// Once remembered, content is not read again; whatever changes the file's identity, its size and its time as
// they were, makes it count anew.
TEST_F(Cache, ARememberedFileThatIsWrittenAnewIsHashedAgain) {
  set_age(path_, 1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(3'100));  // it has settled: see kSettledNs
  EXPECT_EQ(first_weight(open()), 1);
  ASSERT_EQ(files(".source").size(), 1U);
  const auto size = fs::file_size(path_);
  write_model(path_, 9);
  set_age(path_, 1000);
  ASSERT_EQ(fs::file_size(path_), size);
  EXPECT_EQ(first_weight(open()), 9);
}

TEST_F(Cache, ALinkLeadsToWhatItNames) {
  write_model(folder_ + "/other.onnx", 4);
  const std::string link = folder_ + "/link.onnx";
  fs::create_symlink(path_, link);
  EXPECT_EQ(first_weight(open(link)), 1);
  fs::remove(link);
  fs::create_symlink(folder_ + "/other.onnx", link);
  EXPECT_EQ(first_weight(open(link)), 4);
  EXPECT_EQ(first_weight(open(path_)), 1);
}

TEST_F(Cache, WhatACrashHasLeftIsRemoved) {
  fs::create_directories(options_.cache_folder);
  const std::string cache = options_.cache_folder + "/";
  write_file(cache + "old.weir.0123456789abcdef.tmp", std::string(1000, 'x'));
  set_age(cache + "old.weir.0123456789abcdef.tmp", 100);
  write_file(cache + "young.weir.0123456789abcdef.tmp", "x");
  auto slow = AtomicFile::create(cache + "slow.weir");  // somebody who takes long to write
  ASSERT_TRUE(slow);
  ASSERT_THAT(files(".tmp"), SizeIs(3));
  for (const std::string& file : files(".tmp")) {
    if (file.find("slow") != std::string::npos) {
      set_age(file, 100);
    }
  }
  write_file(cache + "README", "not ours");
  const Model model = open();
  EXPECT_TRUE(model.cached);
  EXPECT_THAT(whats(model), ElementsAre("info cache"));
  EXPECT_THAT(files(".tmp"), SizeIs(2));
  EXPECT_THAT(files("old.weir.0123456789abcdef.tmp"), IsEmpty());
  EXPECT_THAT(files("README"), SizeIs(1));
  EXPECT_TRUE(slow->commit());
}

TEST_F(Cache, HoldsAtMostItsBytesTheLatestUsedLast) {
  std::vector<std::string> paths;
  std::vector<std::string> entries;
  int64_t each = 0;
  for (int i = 0; i < 3; ++i) {
    paths.push_back(folder_ + "/model" + std::to_string(i) + ".onnx");
    write_model(paths.back(), 10 + static_cast<float>(i), 20000);
    auto known = i == 0 ? std::vector<std::string>{} : files(".weir");
    each = open(paths.back()).loaded.file_bytes;
    for (const std::string& file : files(".weir")) {
      if (std::ranges::find(known, file) == known.end()) {
        entries.push_back(file);
        set_age(file, 1000 - i);
      }
    }
  }
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_FALSE(open(paths[0]).compiled);  // the oldest is used again
  options_.cache_bytes = 3 * each + each / 2;
  write_model(path_, 1, 20000);
  const Model fourth = open();
  EXPECT_TRUE(fourth.cached);
  ASSERT_THAT(whats(fourth), ElementsAre("info cache"));
  EXPECT_EQ(fourth.notices.front().reason, "(1) old files are removed, which keeps it within (" +
                                               std::to_string(options_.cache_bytes) + ") bytes");
  EXPECT_TRUE(fs::exists(entries[0]));
  EXPECT_FALSE(fs::exists(entries[1]));
  EXPECT_TRUE(fs::exists(entries[2]));
  // One that is too large by itself runs, and is not kept.
  options_.cache_bytes = 1000;
  write_model(path_, 3, 20000);
  const Model large = open();
  EXPECT_FALSE(large.cached);
  EXPECT_EQ(large.cache_note, "the program has (" + std::to_string(large.loaded.file_bytes) +
                                  ") bytes, and the cache holds at most (1000)");
  EXPECT_EQ(first_weight(large), 3);
  EXPECT_THAT(files(".weir"), IsEmpty());
}

TEST_F(Cache, AProgramIsKeptOnlyForTheModelThatWasHashed) {
  const ProgramCache cache(options_.cache_folder, 1 << 20);
  const auto key = cache.key(path_, "options");
  ASSERT_TRUE(key);
  EXPECT_TRUE(cache.is_current(*key));
  write_model(path_, 2);
  EXPECT_FALSE(cache.is_current(*key));
  const auto other = cache.key(path_, "options");
  ASSERT_TRUE(other);
  EXPECT_NE(other->text, key->text);
  EXPECT_NE(cache.key(path_, "other options")->text, other->text);
  fs::remove(path_);
  EXPECT_FALSE(cache.is_current(*other));
}

}  // namespace
}  // namespace weir
