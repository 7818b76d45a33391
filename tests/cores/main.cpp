// The C drivers of two cores against both of them, verilated in one design (pair.v). Reads numbers, writes what comes out:
//
//     batches, rows of each  (y, x[INPUTS])      train logistic        w of INPUTS
//     rows                   (x[INPUTS])         predict with it       h of each
//     rows                   (X[13])             wine                  label and 3 probabilities of each
#include "Vpair.h"
#include "logistic_predict.h"
#include "logistic_train.h"
#include "verilated.h"
#include "wine_predict.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

double sc_time_stamp() { return 0; }

static Vpair pair;
// Words of a transfer; what waits on its way in, and what has come out.
enum { WORDS = 2 };
static const int16_t *sent;
static uint32_t sends, received, wanted;
static int16_t *into;

static void cycle()
{
    pair.s_axis_tvalid = sends != 0;
    if (sends != 0) memcpy(&pair.s_axis_tdata, sent, 2 * WORDS);
    pair.m_axis_tready = received != wanted;
    pair.s_axi_aclk = 0;
    pair.eval();
    bool aw = pair.s_axi_awvalid && pair.s_axi_awready, w = pair.s_axi_wvalid && pair.s_axi_wready;
    bool ar = pair.s_axi_arvalid && pair.s_axi_arready;
    if (pair.s_axis_tvalid && pair.s_axis_tready) {
        sent += WORDS;
        sends -= WORDS;
    }
    if (pair.m_axis_tvalid && pair.m_axis_tready) into[received++] = (int16_t)pair.m_axis_tdata;
    pair.s_axi_aclk = 1;
    pair.eval();
    if (aw) pair.s_axi_awvalid = 0;
    if (w) pair.s_axi_wvalid = 0;
    if (ar) pair.s_axi_arvalid = 0;
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
    pair.s_axi_araddr = offset;
    pair.s_axi_arvalid = 1;
    pair.s_axi_rready = 0;
    until("answer", pair.s_axi_rvalid);
    uint32_t data = pair.s_axi_rdata;
    pair.s_axi_rready = 1;
    cycle();
    pair.s_axi_rready = 0;
    return data;
}

static void write(uint32_t offset, uint32_t value)
{
    pair.s_axi_awaddr = offset;
    pair.s_axi_wdata = value;
    pair.s_axi_awvalid = pair.s_axi_wvalid = 1;
    pair.s_axi_bready = 0;
    until("response", pair.s_axi_bvalid);
    pair.s_axi_bready = 1;
    cycle();
    pair.s_axi_bready = 0;
}

// What the next exchange is to fail with.
static uint32_t fault;

// What a board supplies, of each core.
#define BOARD(core, CORE)                                                                                             \
    volatile void *core##_registers = &pair;                                                                          \
    uint32_t core##_get(volatile void *, uint32_t offset) { return read(offset); }                                    \
    void core##_set(volatile void *, uint32_t offset, uint32_t value) { write(offset, value); }                       \
    uint32_t core##_exchange(uint32_t steps, int load_model, int emit_model, const core##_word *input,                \
        uint32_t input_words, core##_word *output, uint32_t output_words)                                             \
    {                                                                                                                 \
        uint32_t place, cause = fault;                                                                                \
        fault = 0;                                                                                                    \
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
BOARD(logistic, LOGISTIC)
BOARD(wine, WINE)

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

// Behind a row is no number, and nobody reads it.
static float w[INPUTS], x[BATCH * INPUTS], y[BATCH], h, X[14], label, probabilities[3];

static void train()
{
    EXPECT(logistic_train_load(), 0);
    EXPECT(logistic_train(x, y, w), LOGISTIC_TRAIN_NO_MODEL);
    EXPECT(logistic_train_model(w), 0);
    x[1] = NAN;
    EXPECT(logistic_train(x, y, w), LOGISTIC_TRAIN_NO_NUMBER);
    int batches = next();
    for (int batch = 0; batch < batches; batch++) {
        for (int row = 0; row < BATCH; row++) {
            next(&y[row], 1);
            next(&x[row * INPUTS], INPUTS);
        }
        EXPECT(logistic_train(x, y, batch + 1 == batches ? w : NULL), 0);
    }
    tell(w, INPUTS);
}

static void predict()
{
    EXPECT(logistic_predict_load(), 0);
    EXPECT(logistic_predict_model(w), 0);
    x[INPUTS] = NAN;
    for (int row = next(); row > 0; row--) {
        next(x, INPUTS);
        EXPECT(logistic_predict(x, &h), 0);
        EXPECT(logistic_predict_clipped(), 0);
        tell(&h, 1);
    }
    // The nearest word of what has no word is the largest or the smallest.
    float highest;
    x[1] = 1e30f;
    EXPECT(logistic_predict(x, &highest), 0);
    EXPECT(logistic_predict_clipped(), 1);
    x[1] = -1e30f;
    EXPECT(logistic_predict(x, &h), 0);
    EXPECT(highest > h, w[1] > 0);
    // After a run that failed nothing is known of the model.
    fault = 7;
    EXPECT(logistic_predict(x, &h), 7);
    EXPECT(logistic_predict(x, &h), LOGISTIC_PREDICT_NO_MODEL);
    EXPECT(logistic_predict_model(w), 0);
    EXPECT(logistic_predict(x, &h), 0);
}

static void classify()
{
    pair.second = 1;
    EXPECT(logistic_predict_load(), LOGISTIC_PREDICT_ABSENT);
    EXPECT(wine_predict_load(), 0);
    X[13] = NAN;
    for (int row = next(); row > 0; row--) {
        next(X, 13);
        EXPECT(wine_predict(X, &label, probabilities), 0);
        tell(&label, 1);
        tell(probabilities, 3);
    }
}

int main()
{
    for (int n = 0; n < 10; n++) cycle();
    pair.s_axi_aresetn = 1;
    train();
    predict();
    classify();
    return 0;
}
