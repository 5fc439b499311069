/* What is wider than the screen can be reached with the keyboard, and a button for copying is no landmark. */
function reach() {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset math[display=block]"))
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  for (const part of document.querySelectorAll("nav.md-code__nav:not([role])")) part.setAttribute("role", "none");
}
document$.subscribe(reach);
addEventListener("resize", reach);
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
