// Recommender by matrix factorisation: ratings r of n items by one user and of one item by m users; mask 1 where a rating exists.
mu = 0.01;
m = 12;                     // users
n = 9;                      // items
k = 4;                      // features

model_input x1[k], x2[k];   // features of the user, features of the item
model_output r1[m], y1[m];  // mask and ratings of the item by all users
model_output r2[n], y2[n];  // mask and ratings of the user for all items
model w1[m][k], w2[n][k];
gradient g1[m][k] -> w1, g2[n][k] -> w2;
iterator i[0:m];
iterator j[0:n];
iterator l[0:k];

h1[i] = sum[l](w1[i][l] * x2[l]) * r1[i];
h2[j] = sum[l](x1[l] * w2[j][l]) * r2[j];
d1[i] = h1[i] - y1[i];
d2[j] = h2[j] - y2[j];
g1[i][l] = d1[i] * x2[l];
g2[j][l] = d2[j] * x1[l];
