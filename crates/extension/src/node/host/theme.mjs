/** `ctx.ui.theme` without a terminal: text stays as it is. */
const same = (text) => String(text);
const unstyled = (_color, text) => String(text);

export const plainTheme = {
  name: "plain",
  fg: unstyled,
  bg: unstyled,
  bold: same,
  italic: same,
  underline: same,
  inverse: same,
  strikethrough: same,
  dim: same,
  getFgAnsi: () => "",
  getBgAnsi: () => "",
  getColorMode: () => "truecolor",
  getThinkingBorderColor: () => same,
  getBashModeBorderColor: () => same,
};
