/** The browser application (docs/ui.md): one page of HTML, which fetches everything from the admin API. */
import { render } from 'preact'
import { startRouter } from './app/router.ts'
import { Shell } from './app/shell.tsx'
import { startKeys } from './app/start-keys.ts'

startRouter()
startKeys()
render(<Shell />, document.getElementById('app')!)
