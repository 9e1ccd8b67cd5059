/** The browser application (docs/ui.md): one page of HTML, which fetches everything from the admin API. */
import { render } from 'preact'
import { readSession } from './api/client.ts'
import { startRouter } from './app/router.ts'
import { Shell } from './app/shell.tsx'
import { startKeys } from './app/start-keys.ts'

// What is off for a role is on until it is known, and refused with its reason.
readSession().catch(() => undefined)
startRouter()
startKeys()
render(<Shell />, document.getElementById('app')!)
