// What a board has, played by the verilated core TOP behind AXI: registers, a DMA, and what the C drivers leave to it.
#include "verilated.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

double sc_time_stamp() { return 0; }

static TOP top;
// Words of a transfer; what waits on its way in, and what has come out.
enum { WORDS = 2 };
static const int16_t *sent;
static uint32_t sends, received, wanted;
static int16_t *into;

static void cycle()
{
    top.s_axis_tvalid = sends != 0;
    if (sends != 0) memcpy(&top.s_axis_tdata, sent, 2 * WORDS);
    top.m_axis_tready = received != wanted;
    top.s_axi_aclk = 0;
    top.eval();
    bool aw = top.s_axi_awvalid && top.s_axi_awready, w = top.s_axi_wvalid && top.s_axi_wready;
    bool ar = top.s_axi_arvalid && top.s_axi_arready;
    if (top.s_axis_tvalid && top.s_axis_tready) {
        sent += WORDS;
        sends -= WORDS;
    }
    if (top.m_axis_tvalid && top.m_axis_tready) into[received++] = (int16_t)top.m_axis_tdata;
    top.s_axi_aclk = 1;
    top.eval();
    if (aw) top.s_axi_awvalid = 0;
    if (w) top.s_axi_wvalid = 0;
    if (ar) top.s_axi_arvalid = 0;
}

static void until(const char *what, const CData &there)
{
    for (int n = 0; !there; n++) {
        cycle();
        if (n == 100000) {
            printf("no %s\n", what);
            exit(1);
        }
    }
}

static uint32_t read(uint32_t offset)
{
    top.s_axi_araddr = offset;
    top.s_axi_arvalid = 1;
    top.s_axi_rready = 0;
    until("answer", top.s_axi_rvalid);
    uint32_t data = top.s_axi_rdata;
    top.s_axi_rready = 1;
    cycle();
    top.s_axi_rready = 0;
    return data;
}

static void write(uint32_t offset, uint32_t value)
{
    top.s_axi_awaddr = offset;
    top.s_axi_wdata = value;
    top.s_axi_awvalid = top.s_axi_wvalid = 1;
    top.s_axi_bready = 0;
    until("response", top.s_axi_bvalid);
    top.s_axi_bready = 1;
    cycle();
    top.s_axi_bready = 0;
}

// What an exchange is to fail with, after so many that do not.
static uint32_t fault, faultless;
// Words of programs that were written.
static uint32_t program_writes;

// What a board supplies, of each core.
#define BOARD(core, CORE)                                                                                             \
    volatile void *core##_registers = &top;                                                                          \
    uint32_t core##_get(volatile void *, uint32_t offset) { return read(offset); }                                    \
    void core##_set(volatile void *, uint32_t offset, uint32_t value)                                                 \
    {                                                                                                                 \
        program_writes += offset >= CORE##_WINDOW;                                                                    \
        write(offset, value);                                                                                         \
    }                                                                                                                 \
    uint32_t core##_exchange(uint32_t steps, int load_model, int emit_model, const core##_word *input,                \
        uint32_t input_words, core##_word *output, uint32_t output_words)                                             \
    {                                                                                                                 \
        uint32_t place, cause = faultless == 0 ? fault : 0;                                                           \
        if (faultless == 0) fault = 0;                                                                                \
        else faultless--;                                                                                             \
        if (cause != 0) return cause;                                                                                 \
        received = 0;                                                                                                 \
        wanted = output_words;                                                                                        \
        into = output;                                                                                                \
        core##_start(core##_registers, steps, load_model, emit_model, output_words);                                  \
        sent = input;                                                                                                 \
        sends = input_words;                                                                                          \
        while (cause == 0 && (!core##_is_done(core##_registers) || received != wanted))                               \
            cause = read(CORE##_CAUSE);                                                                               \
        return cause == 0 ? 0 : core##_cause(core##_registers, &place);                                               \
    }

static void expect(int line, uint32_t found, uint32_t wanted)
{
    if (found == wanted) return;
    printf("line %d: %u, not %u\n", line, found, wanted);
    exit(1);
}
#define EXPECT(call, wanted) expect(__LINE__, call, wanted)

static void next(float *values, int count)
{
    for (int n = 0; n < count; n++)
        if (scanf("%f", &values[n]) != 1) exit(2);
}

static int next()
{
    float value;
    next(&value, 1);
    return (int)value;
}

static void tell(const float *values, int count)
{
    for (int n = 0; n < count; n++) printf("%.17g%c", values[n], n + 1 < count ? ' ' : '\n');
}

static void reset()
{
    for (int n = 0; n < 10; n++) cycle();
    top.s_axi_aresetn = 1;
}
