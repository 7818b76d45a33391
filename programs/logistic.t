// Logistic regression: cross entropy, one sample per update.
mu = 0.05;
m = 31;                     // inputs, the bias among them

model_input x[m];           // x[0] is the bias, 1
model_output y;             // 0 or 1
model w[m];
gradient g[m] -> w;
iterator i[0:m];

h = sum[i](w[i] * x[i]);
h = sigmoid(h);
d = h - y;
g[i] = d * x[i];
