// Runs the generated grid on the first samples and compares every word that comes out.
//
//   testbench [FOLDER] [+stalls=SEED]
//
// FOLDER (default: here) has control.hex (writes of the control port that load the program and start the run), input.hex
// (one beat per line, one word per lane) and expected.hex (one beat per line, one word per lane, and its cycle). With +stalls the streams wait at random, which must
// change no word. Exit code: 0 all words are right, 1 they are not, 2 the files cannot be used.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "grid.h"

namespace {

using Line = std::vector<uint64_t>;

[[noreturn]] void unusable(const std::string& what) {
    std::fprintf(stderr, "testbench: %s\n", what.c_str());
    std::exit(2);
}

// Hexadecimal numbers, line by line; `//` begins a comment.
std::vector<Line> read(const std::string& folder, const std::string& name, size_t numbers) {
    std::ifstream file(folder + "/" + name);
    if (!file) unusable("cannot read " + folder + "/" + name);
    std::vector<Line> lines;
    std::string text;
    while (std::getline(file, text)) {
        std::istringstream words(text.substr(0, text.find("//")));
        Line line;
        std::string word;
        while (words >> word) {
            char* end = nullptr;
            line.push_back(std::strtoull(word.c_str(), &end, 16));
            if (*end) unusable(name + ": '" + word + "' is not a number");
        }
        if (line.empty()) continue;
        if (line.size() != numbers) unusable(name + ": a line has the wrong number of words");
        lines.push_back(line);
    }
    return lines;
}

// A port of up to 64 bits is a number, a wider one an array of 32-bit words.
template <class Port>
typename std::enable_if<std::is_integral<Port>::value>::type set_words(Port& port, const Line& words) {
    uint64_t value = 0;
    for (size_t n = words.size(); n-- > 0;) value = GRID_WORD >= 64 ? words[n] : (value << GRID_WORD | words[n]);
    port = static_cast<Port>(value);
}

template <class Port>
typename std::enable_if<!std::is_integral<Port>::value>::type set_words(Port& port, const Line& words) {
    std::memset(&port[0], 0, sizeof(port));
    for (size_t bit = 0; bit < words.size() * GRID_WORD; ++bit)
        if (words[bit / GRID_WORD] >> (bit % GRID_WORD) & 1) port[bit / 32] |= 1u << (bit % 32);
}

template <class Port>
typename std::enable_if<std::is_integral<Port>::value, bool>::type bit_of(const Port& port, size_t bit) {
    return port >> bit & 1;
}

template <class Port>
typename std::enable_if<!std::is_integral<Port>::value, bool>::type bit_of(const Port& port, size_t bit) {
    return port[bit / 32] >> (bit % 32) & 1;
}

template <class Port>
Line get_words(const Port& port) {
    Line words(GRID_OUTPUT_LANES);
    for (size_t bit = 0; bit < words.size() * GRID_WORD; ++bit)
        words[bit / GRID_WORD] |= static_cast<uint64_t>(bit_of(port, bit)) << (bit % GRID_WORD);
    return words;
}

class Grid {
public:
    explicit Grid(VerilatedContext* context) : top_(context) {
        top_.reset = 1;
        idle();
        cycle();
        cycle();
        top_.reset = 0;
    }
    ~Grid() { top_.final(); }

    void write(uint64_t address, uint64_t data) {
        idle();
        top_.control_write = 1;
        top_.control_address = address;
        top_.control_data = data;
        cycle();
        top_.control_write = 0;
    }

    uint32_t read(uint64_t address) {
        idle();
        top_.control_address = address;
        for (int n = 0; n < static_cast<int>(GRID_READ_CYCLES); ++n) cycle();
        return top_.control_read;
    }

    // One cycle of the streams. `beat` may be null; says whether it was taken, and whether a beat came out.
    void streams(const Line* beat, bool ready, bool& taken, bool& came, Line& result) {
        top_.in_valid = beat != nullptr;
        if (beat) set_words(top_.in_data, *beat);
        top_.out_ready = ready;
        top_.eval();
        taken = beat && top_.in_ready;
        came = ready && top_.out_valid;
        if (came) result = get_words(top_.out_data);
        rise();
    }

private:
    void idle() {
        top_.control_write = 0;
        top_.in_valid = 0;
        top_.out_ready = 0;
    }
    // Inputs change while the clock is low, and have settled before it rises.
    void cycle() {
        top_.eval();
        rise();
    }
    void rise() {
        top_.clock = 1;
        top_.eval();
        top_.clock = 0;
    }

    GRID_CLASS top_;
};

// A small generator of numbers; 0 means never.
struct Stalls {
    uint64_t state;
    bool next() {
        if (!state) return false;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state % 100 < 25;
    }
};

}  // namespace

int main(int argc, char** argv) {
    std::string folder = ".";
    Stalls stalls{0};
    for (int n = 1; n < argc; ++n) {
        if (!std::strncmp(argv[n], "+stalls=", 8)) {
            stalls.state = std::strtoull(argv[n] + 8, nullptr, 0) * 2 + 1;
        } else if (argv[n][0] != '+') {
            folder = argv[n];
        }
    }
    const std::vector<Line> control = read(folder, "control.hex", 2);
    const std::vector<Line> input = read(folder, "input.hex", GRID_LANES);
    const std::vector<Line> expected = read(folder, "expected.hex", GRID_OUTPUT_LANES + 1);
    // A function of no inputs has no beats.
    if (control.empty() || expected.empty()) unusable("control.hex or expected.hex is empty");

    VerilatedContext context;
    context.commandArgs(argc, argv);
    Grid grid(&context);
    if (grid.read(GRID_IDENTITY) != GRID_IDENTITY_VALUE) {
        std::printf("FAIL: the identity register is wrong: this is not a grid of tabla-gen\n");
        return 1;
    }
    for (const Line& line : control) grid.write(line[0], line[1]);

    size_t sent = 0, seen = 0, wrong = 0;
    uint64_t cycle = 0;
    uint64_t idle = 0;
    bool offering = false;
    while ((sent < input.size() || seen < expected.size()) && idle < GRID_PATIENCE) {
        // A beat that was offered stays offered until it is taken.
        offering = sent < input.size() && (offering || !stalls.next());
        bool taken = false, came = false;
        Line result;
        grid.streams(offering ? &input[sent] : nullptr, !stalls.next(), taken, came, result);
        if (taken) {
            ++sent;
            offering = false;
        }
        if (came) {
            result.push_back(cycle);
            const Line due = seen < expected.size() ? expected[seen] : result;
            const bool late = !stalls.state && cycle != due.back();
            for (size_t lane = 0; lane < GRID_OUTPUT_LANES; ++lane)
                if ((result[lane] != due[lane] || late) && wrong++ < 10)
                    std::printf("word %zu of beat %zu is %" PRIx64 " in cycle %" PRIu64 ", expected %" PRIx64 " in cycle %" PRIu64 "\n", lane,
                                seen, result[lane], cycle, due[lane], due.back());
            ++seen;
        }
        idle = taken || came ? 0 : idle + 1;
        ++cycle;
    }
    if (sent < input.size() || seen != expected.size()) {
        std::printf("FAIL: %zu of %zu beats were taken, %zu of %zu came out\n", sent, input.size(), seen, expected.size());
        return 1;
    }
    for (uint64_t waited = 0; (grid.read(GRID_CONTROL) & (GRID_BUSY | GRID_DONE)) != GRID_DONE; ++waited) {
        if (waited > GRID_PATIENCE) {
            std::printf("FAIL: the run does not end\n");
            return 1;
        }
        bool taken = false, came = false;
        Line result;
        grid.streams(nullptr, true, taken, came, result);
        if (came) {
            std::printf("FAIL: more than %zu beats came out\n", expected.size());
            return 1;
        }
    }
    const uint64_t cycles = static_cast<uint64_t>(grid.read(GRID_CYCLES_HIGH)) << 32 | grid.read(GRID_CYCLES_LOW);
    const bool on_time = stalls.state || cycles == GRID_EXPECTED_CYCLES;
    const size_t words = expected.size() * GRID_OUTPUT_LANES;
    if (wrong || !on_time) {
        std::printf("FAIL: %zu of %zu words are wrong; %" PRIu64 " cycles, expected %" PRIu64 "\n", wrong, words, cycles,
                    static_cast<uint64_t>(GRID_EXPECTED_CYCLES));
        return 1;
    }
    std::printf("PASS: %zu words as expected, %" PRIu64 " cycles\n", words, cycles);
    return 0;
}
