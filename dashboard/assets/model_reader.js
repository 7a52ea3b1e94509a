// Reads texts with a model: `openModel` takes what `describe_model` returns, and the weights in base64.
const TINY = 1.2e-38; // the least probability
// The maps of a layer: each times its coefficient, and their sum, as [row][head][token][token].
const combineMaps = ({ maps, coefficients }) => {
  const rows = maps.map((heads, n) => heads.map((map, h) => map.map((row, i) => row.map((value) => value * coefficients[n][h][i]))));
  if (rows.length === 1) return rows;
  return [...rows, rows[0].map((map, h) => map.map((row, i) => row.map((_, j) => rows.reduce((sum, heads) => sum + heads[h][i][j], 0))))];
};
const openModel = (model, weights) => {
  const tokenizer = makeTokenizer(model.tokenizer), tensors = readWeights(Uint8Array.from(atob(weights), (sign) => sign.charCodeAt(0)));
  // Everything that the model makes of a text; `change` is as in `forward`.
  const read = (text, change) => {
    const encoded = tokenizer.encode(text), { logits, layers } = forward(model, tensors, encoded.ids, change);
    return { ...encoded, tokens: [...(model.pooling === "cls" ? ["[CLS]"] : []), ...encoded.tokens], logits, layers, probabilities: calibrate(model, logits) };
  };
  const computeOdds = (probabilities, target) => {
    const others = model.task === "multi" ? 1 - probabilities[target] : probabilities.reduce((sum, p, i) => sum + (i === target ? 0 : p), 0);
    return Math.log(Math.max(TINY, probabilities[target])) - Math.log(Math.max(TINY, others));
  };
  // The class whose log-odds the effects are of: the second of two, else the most probable one.
  const chooseTarget = ({ probabilities }) => (model.classes.length === 2 ? 1 : probabilities.indexOf(Math.max(...probabilities)));
  // What the log-odds lose without a word; `text` is the part of the text that is read.
  const measureEffect = (text, word, target, odds) =>
    (word[0] < text.length ? odds - computeOdds(read(tokenizer.removeWord(text, word)).probabilities, target) : 0);
  return { classes: model.classes, tokenizer, read, computeOdds, chooseTarget, measureEffect, combineMaps };
};
