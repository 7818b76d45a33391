// Softmax regression: logistic regression for several classes.
// D. Boehning, "Multinomial logistic regression algorithm", Annals of the Institute of Statistical Mathematics 44, 1992.

mu = 0.05;
m = 5;                       // inputs, the bias among them
c = 3;                       // classes

model_input x[m];
model_output y[c];           // 1 for the class of the sample, else 0
model w[c][m];
gradient g[c][m] -> w;
iterator i[0:m];
iterator k[0:c];

h[k] = sum[i](w[k][i] * x[i]);
e[k] = exp(h[k]);
l = log(sum[k](e[k]));
p[k] = exp(h[k] - l);        // the quotient of e[k] and the sum, without a division
d[k] = p[k] - y[k];
g[k][i] = d[k] * x[i];
