// A step of a generative adversarial network (Goodfellow et al., 2014): the discriminator d1, d2 learns that `real` is real and that the generator's
// output is not; the generator p1, p2 learns from the same step that the discriminator should call its output y, which is 1.
mu = 0.05;
l = 16;
u = 64;
n = 64;
model_input noise[l];
model_input real[n];
model_output y;
model p1[u][l], p2[n][u], d1[u][n], d2[u];
gradient gp1[u][l] -> p1, gp2[n][u] -> p2, gd1[u][n] -> d1, gd2[u] -> d2;
iterator i[0:l];
iterator k[0:u];
iterator j[0:n];

a[k] = sigmoid(sum[i](p1[k][i] * noise[i]));
fake[j] = sum[k](p2[j][k] * a[k]);
br[k] = sigmoid(sum[j](d1[k][j] * real[j]));
bf[k] = sigmoid(sum[j](d1[k][j] * fake[j]));
pr = sigmoid(sum[k](d2[k] * br[k]));
pf = sigmoid(sum[k](d2[k] * bf[k]));

er = pr - 1;
ef = pf;
eg = pf - y;
gd2[k] = er * br[k] + ef * bf[k];
hr[k] = er * d2[k] * (br[k] * (1 - br[k]));
hf[k] = ef * d2[k] * (bf[k] * (1 - bf[k]));
gd1[k][j] = hr[k] * real[j] + hf[k] * fake[j];
hg[k] = eg * d2[k] * (bf[k] * (1 - bf[k]));
df[j] = sum[k](d1[k][j] * hg[k]);
gp2[j][k] = df[j] * a[k];
da[k] = sum[j](p2[j][k] * df[j]) * (a[k] * (1 - a[k]));
gp1[k][i] = da[k] * noise[i];
