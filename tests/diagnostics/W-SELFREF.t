model_input x[3];
iterator i[0:3], j[0:3];
a[i] = x[i];
a[i] = a[i] + 1;
a[i] = sum[j](a[j]) - a[i];
