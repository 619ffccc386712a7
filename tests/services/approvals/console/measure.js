// What is wrong with a page for a finger or an eye: targets that are too small, text under the contrast of WCAG AA,
// fields without a name.
(least) => {
  const faults = [];
  const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const name = (element) => `<${element.tagName.toLowerCase()}> ${element.textContent.trim().slice(0, 40)}`;
  const numbers = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.alpha === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  for (const element of document.querySelectorAll("a, button, input, select, textarea, summary")) {
    if (!shown(element) || element.type === "hidden" || element.className === "skip") continue;
    const box = element.getBoundingClientRect();
    if (box.height < least - 0.5) faults.push(`${name(element)}: ${box.height} px high`);
    if (box.width < least - 0.5) faults.push(`${name(element)}: ${box.width} px wide`);
    if (element.matches("input, select, textarea") && !element.labels.length) faults.push(`${name(element)}: no label`);
    if (element.matches("input, select, textarea, button")) {
      const edge = numbers(getComputedStyle(element).borderTopColor);
      if (edge.alpha === 1 && contrast(edge.rgb, ground(element.parentElement)) < 3) faults.push(`${name(element)}: faint edge`);
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(element) || element.closest("script, .skip, .apart")) continue;
    const value = contrast(numbers(getComputedStyle(element).color).rgb, ground(element));
    if (value < 4.5) faults.push(`${name(element)}: contrast ${value.toFixed(2)}`);
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  return faults;
}
