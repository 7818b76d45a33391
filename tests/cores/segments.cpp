// The C driver of resnet_small in segments against its core, verilated behind AXI. Reads numbers, writes what comes out:
//
//     w0, b0, .. w3, b3                      the model, once
//     calls, then x of STEPS records each    words of programs that the first call writes, then y of each record
#include "Vresnet_small_axi.h"
#define TOP Vresnet_small_axi
#include "board.h"
#include "resnet_small_predict.h"

#include <cmath>

BOARD(resnet_small, RESNET_SMALL)

enum { STEPS = RESNET_SMALL_PREDICT_STEPS, IN = PER_STEP * 3 * 8 * 8, OUT = PER_STEP * 10 };
static float w0[8 * 3 * 3 * 3], b0[8], w1[8 * 8 * 3 * 3], b1[8], w2[8 * 8 * 3 * 3], b2[8], w3[10 * 8], b3[10];
// Behind the records is no number, and nobody reads it.
static float x[STEPS * IN + 1], y[STEPS * OUT];

static uint32_t give_model() { return resnet_small_predict_model(w0, b0, w1, b1, w2, b2, w3, b3); }

static void tell_all()
{
    for (int step = 0; step < STEPS * PER_STEP; step++) tell(y + 10 * step, 10);
}

int main()
{
    reset();
    top.s_axi_wstrb = top.s_axis_tkeep = 15;
    EXPECT(resnet_small_predict_load(), 0);
    EXPECT(resnet_small_predict(x, y), RESNET_SMALL_PREDICT_NO_MODEL);
    next(w0, 8 * 3 * 3 * 3);
    next(b0, 8);
    next(w1, 8 * 8 * 3 * 3);
    next(b1, 8);
    next(w2, 8 * 8 * 3 * 3);
    next(b2, 8);
    next(w3, 10 * 8);
    next(b3, 10);
    float right = w2[5];
    w2[5] = NAN;
    EXPECT(give_model(), RESNET_SMALL_PREDICT_NO_NUMBER);
    EXPECT(resnet_small_predict(x, y), RESNET_SMALL_PREDICT_NO_MODEL);
    w2[5] = right;
    EXPECT(give_model(), 0);
    // Its words are kept: nobody looks at the values again.
    w2[5] = NAN;
    x[STEPS * IN] = NAN;
    for (int call = 0, calls = next(); call < calls; call++) {
        next(x, STEPS * IN);
        if (call == 1) {
            // What fails in the middle begins anew, with the model that was given.
            fault = 7;
            faultless = 3;
            EXPECT(resnet_small_predict(x, y), 7);
            EXPECT(resnet_small_predict(x, NULL), 0);
        }
        EXPECT(resnet_small_predict(x, y), 0);
        EXPECT(resnet_small_predict_clipped(), 0);
        if (call == 0) printf("%u\n", program_writes);
        tell_all();
    }
    x[7] = 1e30f;
    EXPECT(resnet_small_predict(x, y), 0);
    EXPECT(resnet_small_predict_clipped(), 1);
    x[7] = NAN;
    EXPECT(resnet_small_predict(x, y), RESNET_SMALL_PREDICT_NO_NUMBER);
    return 0;
}
