// Support vector machine as it was published: the condition reads `c > 1`, where the hinge loss has `c < 1` (see svm.t).
// The meaning is kept; starting from zero weights nothing is ever learnt.
mu = 0.01;
m = 31;                     // inputs, the bias among them

model_input x[m];           // x[0] is the bias, 1
model_output y;             // -1 or 1
model w[m];
gradient g[m] -> w;
iterator i[0:m];

h = sum[i](w[i] * x[i]);
c = y * h;
g[i] = ((c > 1) * (0 - y)) * x[i];
