model w[2];
gradient g[2] -> w;
