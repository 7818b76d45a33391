n = 11;
model_input x[n];
iterator i[0:n];
s[i] = sigmoid(x[i]);
t[i] = sigmoid_symmetric(x[i]);
g[i] = gaussian(x[i]);
