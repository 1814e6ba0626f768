// Before anything is drawn: the theme somebody chose for this browser, if it is not the system's.
{
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
