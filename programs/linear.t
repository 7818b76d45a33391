// Linear regression: squared error, one sample per update.
mu = 0.01;
m = 11;                     // inputs, the bias among them

model_input x[m];           // x[0] is the bias, 1
model_output y;
model w[m];
gradient g[m] -> w;
iterator i[0:m];

h = sum[i](w[i] * x[i]);
d = h - y;
g[i] = d * x[i];
