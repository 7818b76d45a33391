// Logistic regression: the chance that a sample is of class 1.

mu = 0.05;                  // learning rate
m = 4;                      // inputs, a constant 1 among them; model.toml takes it from the data

model_input x[m];
model_output y;             // 0 or 1
model w[m];
gradient g[m] -> w;
iterator i[0:m];

h = sum[i](w[i] * x[i]);
h = sigmoid(h);
d = h - y;
g[i] = d * x[i];
