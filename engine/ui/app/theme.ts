/** Dark or light: as the system says, until somebody chooses; the choice stays in this browser. */

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'weir.theme'

export function storedTheme(): Theme {
  try {
    return themeOf(localStorage.getItem(KEY))
  } catch {
    // A browser that keeps nothing.
    return 'system'
  }
}

export const themeOf = (text: string | null): Theme => THEMES.find((theme) => theme === text) ?? 'system'

/** styles: :root[data-theme]. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function storeTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // It holds until the page is left.
  }
}
