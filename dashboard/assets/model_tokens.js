// Splits a text into the tokens of a run, and into words that can be deleted.

const decodeEntity = (entity) => {
  const node = document.createElement("i");
  node.innerHTML = entity; // matched by a pattern without "<"
  return node.textContent;
};
const REFERENCE = /&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/gu;
const isWhole = (entity, found) => entity[1] === "#" || entity === "&semi;" || !found.endsWith(";");
const STEPS = {
  replace: (text, pattern, content) => text.replace(pattern, () => content),
  keep: (text, pattern) => text.replace(pattern, (found, kept) => kept ?? ""),
  table: (text, pattern, content) => text.replace(pattern, (sign) => content[sign]),
  unescape: (text) => text.replace(REFERENCE, decodeEntity),
  entities: (text, pattern) => text.replace(pattern, (entity) => {
    const found = decodeEntity(entity);
    return isWhole(entity, found) ? found : entity;
  }),
  hashtags: (text, pattern, humps) => text.replace(pattern, (found, tag) => ` # ${tag.replace(new RegExp(humps, "gu"), " ")} `),
  lower: (text) => text.toLowerCase(),
  compose: (text) => text.toWellFormed().normalize("NFC"),
};

// GPT-2's split before byte pairs; a blank belongs to the word after it.
const PIECES = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
// Each byte as a visible character: Latin-1 ones as they are, the others from U+0100 on.
const listByteSigns = () => {
  let next = 256;
  const shown = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  return [...Array(256).keys()].map((byte) => String.fromCharCode(shown(byte) ? byte : next++));
};

const BLANK = /^(?:(?!\ufeff)[\s\x1c-\x1f\x85])$/u; // as in Python

const makeTokenizer = ({ kind, steps, token, word, line, vocabulary, merges, longest }) => {
  const patterns = steps.map(([step, pattern, content]) => [step, new RegExp(pattern, "gu"), content]);
  const numbers = new Map(vocabulary.map((name, id) => [name, id]));
  const ranks = new Map(merges.map((pair, rank) => [pair.join(" "), rank]));
  const signs = listByteSigns();
  const tokenPattern = new RegExp(token, "gu"), wordPattern = new RegExp(word, "gu"), linePattern = new RegExp(`^(?:${line})$`, "u");

  const mergePairs = (parts) => {
    for (;;) {
      let best = Infinity, at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return parts;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
  };
  const splitPairs = (text) => text.match(PIECES)?.flatMap((piece) =>
    mergePairs([...new TextEncoder().encode(piece)].map((byte) => signs[byte]))) ?? [];
  // The text of each piece, which is a number of bytes; a part of a character is shown as the character. The blank before
  // the text is `added`.
  const showPieces = (pieces, text, added) => {
    const characters = [...text], owners = characters.flatMap((sign, i) => Array.from(new TextEncoder().encode(sign), () => i));
    let at = 0;
    if (added) owners[0] = 1;
    return pieces.map((piece) => {
      const first = owners[at], last = owners[(at += piece.length) - 1];
      return characters.slice(first, last + 1).join("").replace(/^ (?=.)/su, "");
    });
  };

  // Token ids and their texts, and the number of tokens that are cut off.
  const encode = (typed) => {
    let text = patterns.reduce((found, [step, pattern, content]) => STEPS[step](found, pattern, content), typed);
    const added = kind === "bpe" && text && text[0] !== " ";
    if (added) text = ` ${text}`;
    const pieces = kind === "bpe" ? splitPairs(text) : text.match(tokenPattern) ?? [];
    const read = longest ? pieces.slice(0, longest) : pieces;
    return { ids: read.map((piece) => numbers.get(piece) ?? 1), tokens: kind === "bpe" ? showPieces(read, text, added) : read, cut: pieces.length - read.length };
  };

  // [start, end] of each word of a typed text; no visible character is split.
  const findWords = (text) => {
    const ends = new Set([...new Intl.Segmenter().segment(text)].map(({ index }) => index)).add(text.length), found = [];
    for (const match of text.matchAll(wordPattern)) {
      if (!/[^\p{Cc}\p{Cf}]/u.test(match[0])) continue;
      let start = match.index, end = start + match[0].length;
      while (!ends.has(start)) start--;
      while (!ends.has(end)) end++;
      if (found.length && start < found.at(-1)[1]) found.at(-1)[1] = Math.max(end, found.at(-1)[1]);
      else found.push([start, end]);
    }
    return found;
  };
  // The text without a word and without the second of two blanks; a removed <br> leaves a blank.
  const removeWord = (text, [start, end]) => {
    const before = text.slice(0, start), after = text.slice(end), blank = (sign) => !sign || BLANK.test(sign);
    if (linePattern.test(text.slice(start, end)) && !blank(before.at(-1)) && !blank(after[0])) return `${before} ${after}`;
    if (!blank(before.at(-1)) || !blank(after[0])) return before + after;
    return after ? before + after.slice(1) : before.slice(0, -1);
  };
  // The part of a typed text that is not cut off: up to a word, or up to a place in it if it is cut itself.
  const findRead = (text) => {
    const whole = encode(text);
    if (!whole.cut) return text;
    const fits = (end) => {
      const { ids, cut } = encode(text.slice(0, end));
      return !cut && ids.length === whole.ids.length && ids.every((id, i) => id === whole.ids[i]);
    };
    const words = findWords(text), at = words.findIndex(([, end]) => encode(text.slice(0, end)).ids.length >= longest);
    for (let place = words[at][1]; place > words[at][0]; place--) if (fits(place)) return text.slice(0, place);
    return text.slice(0, words[at - 1]?.[1] ?? 0);
  };
  return { encode, findWords, removeWord, findRead };
};
