// A step of deep Q-learning (Mnih et al.: Human-level control through deep reinforcement learning, 2015): the action taken in state x is worth the reward
// and nine tenths of the best action in the next state z, as the frozen network v1, v2, v3 sees it.
mu = 0.05;
s = 8;
u = 64;
model_input x[s], z[s], act[4];
model_output reward;
model w1[u][s], w2[u][u], w3[4][u], v1[u][s], v2[u][u], v3[4][u];
gradient g1[u][s] -> v1, g2[u][u] -> v2, g3[4][u] -> v3;
iterator i[0:s];
iterator k[0:u];
iterator l[0:u];
iterator o[0:4];

a[k] = sigmoid(sum[i](w1[k][i] * x[i]));
aa[l] = sigmoid(sum[k](w2[l][k] * a[k]));
q[o] = sum[l](w3[o][l] * aa[l]);
b[k] = sigmoid(sum[i](v1[k][i] * z[i]));
bb[l] = sigmoid(sum[k](v2[l][k] * b[k]));
t[o] = sum[l](v3[o][l] * bb[l]);
c = t[0] + (t[1] > t[0]) * (t[1] - t[0]);
e = t[2] + (t[3] > t[2]) * (t[3] - t[2]);
best = c + (e > c) * (e - c);
h = sum[o](act[o] * q[o]) - 0.9 * best;
g1[k][i] = 0;
g2[l][k] = 0;
g3[o][l] = 0;
minimize squared(h, reward);
