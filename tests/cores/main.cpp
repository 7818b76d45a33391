// The C drivers of two cores against both of them, verilated in one design (pair.v). Reads numbers, writes what comes out:
//
//     batches, rows of each  (y, x[INPUTS])      train logistic        w of INPUTS
//     rows                   (x[INPUTS])         predict with it       h of each
//     rows                   (X[13])             wine                  label and 3 probabilities of each
#include "Vpair.h"
#define TOP Vpair
#include "board.h"
#include "logistic_predict.h"
#include "logistic_train.h"
#include "wine_predict.h"

#include <cmath>

BOARD(logistic, LOGISTIC)
BOARD(wine, WINE)

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
    top.second = 1;
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
    reset();
    train();
    predict();
    classify();
    return 0;
}
