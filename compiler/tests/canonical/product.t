// all names
// A product is a chain, rounded at each step; norms square one temporary.
model_input x[3];
iterator i[0:3];
p = pi[i](x[i] + 0.5);
n = norm[i](x[i] - 0.25);
