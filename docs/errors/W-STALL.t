// Logistic regression at a rate that words of 8 bits do not see.
mu = 0.0001;
m = 30;
model_input x[m];
model_output y;
model w[m];
gradient g[m] -> w;
iterator i[0:m];
h = sigmoid(sum[i](w[i] * x[i]));
g[i] = (h - y) * x[i];
