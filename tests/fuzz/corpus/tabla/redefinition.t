n = 2; n = 3;
model_input x[n]; model w[n]; gradient g[n] -> w;
iterator i[0:n], p[1:n];
x[i] = x[i]; h = sum[p](w[p]*x[p]); h = h; g[i] = pi[p](h - x[p]) * norm[i](w[i]);
