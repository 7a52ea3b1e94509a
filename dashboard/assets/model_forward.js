// The forward pass of Sentiscope's attention encoder, written out: out = (c_0 A_0 + c_1 A_1 + …) V with A_n = softmax(Q_n K_n).
// Vectors of the L tokens of a text stand one after the other in a Float64Array (L × width).

// Tensors of a safetensors file by name: {shape, values}. int8 tensors are multiplied by the scales of their rows.
const readWeights = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const half = (place) => {
    const bits = view.getUint16(place, true), exponent = (bits >> 10) & 31, fraction = bits & 1023;
    return (bits >> 15 ? -1 : 1) * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  };
  const kinds = {
    F32: [4, (place) => view.getFloat32(place, true)],
    F16: [2, half],
    I8: [1, (place) => view.getInt8(place)],
  };
  const read = ({ dtype, shape, data_offsets: [start, end] }) => {
    const [size, get] = kinds[dtype], values = new Float32Array((end - start) / size);
    for (let i = 0; i < values.length; i++) values[i] = get(8 + length + start + i * size);
    return { shape, values };
  };
  const tensors = {};
  for (const [name, about] of Object.entries(header)) {
    if (name === "__metadata__" || name.endsWith(":scale")) continue;
    const tensor = tensors[name] = read(about), scale = header[`${name}:scale`];
    if (!scale) continue;
    const factors = read(scale).values, row = tensor.values.length / factors.length;
    for (let i = 0; i < tensor.values.length; i++) tensor.values[i] *= factors[Math.floor(i / row)];
  }
  return tensors;
};

// x W^T + b for each token.
const linear = (x, weight, bias) => {
  const [out, width] = weight.shape, rows = x.length / width, W = weight.values, y = new Float64Array(rows * out);
  for (let i = 0; i < rows; i++) for (let o = 0; o < out; o++) {
    let sum = bias ? bias.values[o] : 0;
    for (let k = 0, at = i * width, from = o * width; k < width; k++) sum += x[at + k] * W[from + k];
    y[i * out + o] = sum;
  }
  return y;
};

const EPSILON = 1e-5;
// Layer norm (with mean and bias) or RMS norm of each piece of `width` numbers.
const norm = (x, width, kind, weight, bias) => {
  if (kind === "none") return x;
  const y = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    let mean = 0, square = 0;
    if (kind === "layer") for (let k = 0; k < width; k++) mean += x[start + k] / width;
    for (let k = 0; k < width; k++) square += (x[start + k] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(square + EPSILON);
    for (let k = 0; k < width; k++) y[start + k] = (x[start + k] - mean) * scale * weight.values[k] + (bias ? bias.values[k] : 0);
  }
  return y;
};

const add = (x, y) => x.map((value, i) => value + y[i]);
const sigmoid = (z) => 1 / (1 + Math.exp(-z));
const softmax = (scores) => {
  const most = Math.max(...scores), powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
};
// The error function by its series, which rounds badly for large numbers; beyond 4 it is 1 to eight digits.
const erf = (x) => {
  if (Math.abs(x) > 4) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
};

// The sine and cosine encoding of each position.
const sinusoid = (length, width) => {
  const waves = new Float64Array(length * width);
  for (let i = 0; i < length; i++) for (let k = 0; k < width; k += 2) {
    const angle = i / 10000 ** (k / width);
    waves[i * width + k] = Math.sin(angle);
    waves[i * width + k + 1] = Math.cos(angle);
  }
  return waves;
};

// One query or key of a head: of unit length for cosine scores, and turned by its position if positions are rotary.
const prepareVector = (vector, position, { qk_norm: cosine, rotary }) => {
  let found = [...vector];
  if (cosine) {
    const length = Math.max(1e-12, Math.hypot(...found));
    found = found.map((value) => value / length);
  }
  if (!rotary) return found;
  return found.map((value, k) => {
    const angle = position / 10000 ** ((k - (k % 2)) / found.length), other = found[k % 2 ? k - 1 : k + 1];
    return value * Math.cos(angle) + (k % 2 ? 1 : -1) * other * Math.sin(angle);
  });
};

// The coefficients c of a layer as [map][head][token]: constants of the run, or for each token 1 and −sigmoid(x W); those of
// further maps times `scale`.
const computeCoefficients = (x, length, model, layer, get, scale) => {
  const own = model.coefficients[layer], heads = [...Array(model.heads).keys()], tokens = [...Array(length).keys()];
  const logits = own ? null : linear(x, get("attention.mixing.logit.weight"));
  const found = own ? own.map((map, n) => map.map((value) => Array(length).fill(n ? scale * value : value)))
    : [heads.map(() => tokens.map(() => 1)), heads.map((h) => tokens.map((i) => -scale * sigmoid(logits[i * model.heads + h])))];
  if (!model.row_norm) return found;
  const sums = heads.map((h) => tokens.map((i) => found.reduce((sum, map) => sum + Math.abs(map[h][i]), 0)));
  return found.map((map) => map.map((row, h) => row.map((value, i) => value / sums[h][i])));
};

// Attention of one layer: the outputs (L × width), and the maps [map][head][token][token]. `off`: the heads without output.
const attend = (x, length, model, layer, get, { off = [], scale = 1 }) => {
  const { heads, components, width } = model;
  const part = (name) => linear(x, get(`attention.${name}.weight`), get(`attention.${name}.bias`));
  const q = part("query"), k = part("key"), v = part("value");
  const size = q.length / length / components / heads, wide = width / heads;
  const factor = model.qk_norm ? get("attention.temperature").values[0] : 1 / Math.sqrt(size);
  const c = computeCoefficients(x, length, model, layer, get, scale), out = new Float64Array(length * width), maps = [];
  for (let n = 0; n < components; n++) {
    maps.push([]);
    for (let h = 0; h < heads; h++) {
      const take = (all) => [...Array(length).keys()].map((i) => {
        const start = ((i * components + n) * heads + h) * size;
        return prepareVector(all.subarray(start, start + size), i, model);
      });
      const queries = take(q), keys = take(k);
      const map = queries.map((query) => softmax(keys.map((key) => {
        let score = 0;
        for (let e = 0; e < size; e++) score += query[e] * key[e];
        return score * factor;
      })));
      maps[n].push(map);
      if (off.includes(layer * heads + h)) continue;
      for (let i = 0; i < length; i++) for (let j = 0; j < length; j++) {
        const weight = c[n][h][i] * map[i][j];
        for (let e = 0; e < wide; e++) out[i * width + h * wide + e] += weight * v[j * width + h * wide + e];
      }
    }
  }
  let joined = out;
  if (model.head_norm) joined = norm(out, wide, "rms", get("attention.head_norm.weight")).map((value) => value * model.head_scales[layer]);
  return { y: linear(joined, get("attention.out.weight"), get("attention.out.bias")), maps, coefficients: c };
};

const ACTIVATIONS = { relu: (z) => Math.max(0, z), gelu: (z) => (z / 2) * (1 + erf(z / Math.SQRT2)), swiglu: (z) => z * sigmoid(z) };
const feed = (x, model, get) => {
  const part = (name) => linear(x, get(`feedforward.${name}.weight`), get(`feedforward.${name}.bias`));
  const activate = ACTIVATIONS[model.feedforward], up = part("up"), gate = model.feedforward === "swiglu" ? part("gate") : null;
  const middle = gate ? up.map((value, k) => value * activate(gate[k])) : up.map(activate);
  return linear(middle, get("feedforward.down.weight"), get("feedforward.down.bias"));
};

// The answer to token ids: logits, and of each layer its maps and coefficients. A class token comes first if it is read.
// `change` can hold `off`, numbers of heads through all layers, and `scale`, a factor on every λ.
const forward = (model, tensors, ids, change = {}) => {
  const { width } = model, before = model.norm_place === "pre", first = model.pooling === "cls" ? 1 : 0, length = ids.length + first;
  let x = new Float64Array(length * width);
  const table = tensors["embedding.weight"].values;
  ids.forEach((id, i) => {
    for (let k = 0; k < width; k++) x[(i + first) * width + k] = table[id * width + k] * model.scale;
  });
  if (first) x.set(tensors.class_token.values);
  if (model.position === "sinusoidal") x = add(x, sinusoid(length, width));
  const layers = [];
  for (let layer = 0; layer < model.layers && length; layer++) {
    const get = (name) => tensors[`layers.${layer}.${name}`];
    const apply = (name, input) => norm(input, width, model.norm, get(`${name}.weight`), get(`${name}.bias`));
    const { y, maps, coefficients } = attend(before ? apply("attention_norm", x) : x, length, model, layer, get, change);
    layers.push({ maps, coefficients });
    x = before ? add(x, y) : apply("attention_norm", add(x, y));
    const rewritten = feed(before ? apply("feedforward_norm", x) : x, model, get);
    x = before ? add(x, rewritten) : apply("feedforward_norm", add(x, rewritten));
  }
  if (before) x = norm(x, width, model.norm, tensors["final_norm.weight"], tensors["final_norm.bias"]);
  const pooled = new Float64Array(width);
  if (first) pooled.set(x.subarray(0, width));
  else for (let i = 0; i < x.length; i++) pooled[i % width] += x[i] / length;
  const logits = [...linear(pooled, tensors["head.weight"], tensors["head.bias"])];
  return { logits: model.head.one_logit ? [0, ...logits] : logits, layers };
};

// Probabilities of logits with the run's temperature, towards its class prior.
const calibrate = (model, logits) => {
  const scaled = logits.map((z, i) => z / model.temperature + (1 - 1 / model.temperature) * (model.prior[i] ?? model.prior[0]));
  return model.task === "multi" ? scaled.map(sigmoid) : softmax(scaled);
};
