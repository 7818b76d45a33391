// Stochastic gradient descent in plain C, for docs/system.md: the programs of programs/system.toml, in float.
//
//   peers PROGRAM MU BATCH SAMPLES SECONDS EXTENT...  < weights and samples   > weights after one epoch
//
// Extents are those of the program: `m` (linear, logistic), `l1 l2 l3` (backpropagation), `m n k` (recommender). After the epoch that is
// written out it goes on for so many seconds and tells its samples per second on stderr.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int extent[3];

static float dot(const float *a, const float *b, int count) {
    float sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void add(float *to, float factor, const float *values, int count) {
    for (int i = 0; i < count; i++) to[i] += factor * values[i];
}

static float sigmoid(float value) { return 1 / (1 + expf(-value)); }

// Each adds `scale` times the gradient of a sample to `g`, which may be `w` itself.
typedef void Step(const float *sample, const float *w, float *g, float scale);

static void linear(const float *x, const float *w, float *g, float scale) {
    int m = extent[0];
    add(g, scale * (dot(w, x, m) - x[m]), x, m);
}

static void logistic(const float *x, const float *w, float *g, float scale) {
    int m = extent[0];
    add(g, scale * (sigmoid(dot(w, x, m)) - x[m]), x, m);
}

static void backpropagation(const float *x, const float *w, float *g, float scale) {
    int l1 = extent[0], l2 = extent[1], l3 = extent[2];
    const float *y = x + l1, *w23 = w + l1 * l2;
    float a2[l2], d2[l2], d3[l3];
    a2[0] = 1;
    for (int q = 1; q < l2; q++) a2[q] = sigmoid(dot(w + q * l1, x, l1));
    memset(d2, 0, sizeof d2);
    for (int r = 1; r < l3; r++) {
        d3[r] = sigmoid(dot(w23 + r * l2, a2, l2)) - y[r];
        add(d2, d3[r], w23 + r * l2, l2);
    }
    for (int q = 1; q < l2; q++) add(g + q * l1, scale * d2[q] * a2[q] * (1 - a2[q]), x, l1);
    for (int r = 1; r < l3; r++) add(g + l1 * l2 + r * l2, scale * d3[r], a2, l2);
}

static void recommender(const float *x1, const float *w, float *g, float scale) {
    int m = extent[0], n = extent[1], k = extent[2];
    const float *x2 = x1 + k, *r1 = x2 + k, *y1 = r1 + m, *r2 = y1 + m, *y2 = r2 + n, *w2 = w + m * k;
    float d1[m], d2[n];
    for (int i = 0; i < m; i++) d1[i] = dot(w + i * k, x2, k) * r1[i] - y1[i];
    for (int j = 0; j < n; j++) d2[j] = dot(x1, w2 + j * k, k) * r2[j] - y2[j];
    for (int i = 0; i < m; i++) add(g + i * k, scale * d1[i], x2, k);
    for (int j = 0; j < n; j++) add(g + (m + j) * k, scale * d2[j], x1, k);
}

static const struct {
    const char *name;
    Step *step;
    int extents;
} PROGRAMS[] = {{"linear", linear, 1}, {"logistic", logistic, 1}, {"backpropagation", backpropagation, 3}, {"recommender", recommender, 3}};

static int weights_of(Step *step) {
    int a = extent[0], b = extent[1], c = extent[2];
    return step == backpropagation ? a * b + b * c : step == recommender ? (a + b) * c : a;
}

static int words_of(Step *step) {
    int a = extent[0], b = extent[1], c = extent[2];
    return step == backpropagation ? a + c : step == recommender ? 2 * (a + b + c) : a + 1;
}

static void epoch(Step *step, const float *samples, int count, int words, int batch, float mu, float *w, float *g, int weights) {
    if (batch == 1) {
        for (int n = 0; n < count; n++) step(samples + (size_t)n * words, w, w, -mu);
        return;
    }
    for (int n = 0; n + batch <= count; n += batch) {
        memset(g, 0, weights * sizeof *g);
        for (int b = 0; b < batch; b++) step(samples + (size_t)(n + b) * words, w, g, 1);
        add(w, -mu / batch, g, weights);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int argc, char **argv) {
    int program = 0;
    while (argc > 1 && program < 4 && strcmp(PROGRAMS[program].name, argv[1])) program++;
    if (program == 4 || argc != 6 + PROGRAMS[program].extents) {
        fprintf(stderr, "usage: peers PROGRAM MU BATCH SAMPLES SECONDS EXTENT...\n");
        return 2;
    }
    Step *step = PROGRAMS[program].step;
    float mu = atof(argv[2]);
    int batch = atoi(argv[3]), count = atoi(argv[4]);
    double seconds = atof(argv[5]);
    for (int i = 6; i < argc; i++) extent[i - 6] = atoi(argv[i]);
    int weights = weights_of(step), words = words_of(step);
    size_t all = (size_t)count * words;
    float *w = malloc(weights * sizeof *w), *g = malloc(weights * sizeof *g), *samples = malloc(all * sizeof *samples);
    if (fread(w, sizeof *w, weights, stdin) != (size_t)weights || fread(samples, sizeof *samples, all, stdin) != all) {
        fprintf(stderr, "peers: too few values\n");
        return 1;
    }
    epoch(step, samples, count, words, batch, mu, w, g, weights);
    fwrite(w, sizeof *w, weights, stdout);
    double begin = now(), spent = 0;
    long epochs = 0;
    while (spent < seconds) {
        epoch(step, samples, count, words, batch, mu, w, g, weights);
        epochs++;
        spent = now() - begin;
    }
    fprintf(stderr, "%.1f\n", epochs * (double)(count / batch * batch) / spent);
    return 0;
}
