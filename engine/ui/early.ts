/** Runs before the first paint: the theme that was chosen here before, or that of the system. */
import { applyTheme, storedTheme } from './app/theme.ts'

applyTheme(storedTheme())
