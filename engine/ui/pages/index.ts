/** All pages, in the order of the navigation: a page is a folder here, a line below, and a flow in scripts/ui. */
import type { ComponentType } from 'preact'

export interface Page {
  /** Below /ui/. */
  readonly path: string
  readonly title: string
  /** Behind "g". */
  readonly key: string
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

export const PAGES: readonly Page[] = [
  { path: 'overview', title: 'Overview', key: 'o', load: () => import('./overview/page.tsx') },
  { path: 'routes', title: 'Routes', key: 'r', load: () => import('./routes/page.tsx') },
  { path: 'requests', title: 'Requests', key: 'q', load: () => import('./requests/page.tsx') },
  { path: 'models', title: 'Models', key: 'm', load: () => import('./models/page.tsx') },
  { path: 'mcp', title: 'MCP', key: 't', load: () => import('./mcp/page.tsx') },
  { path: 'keys', title: 'Keys', key: 'k', load: () => import('./keys/page.tsx') },
  { path: 'spend', title: 'Spend', key: 's', load: () => import('./spend/page.tsx') },
  { path: 'policies', title: 'Policies', key: 'p', load: () => import('./policies/page.tsx') },
  { path: 'configuration', title: 'Configuration', key: 'c', load: () => import('./configuration/page.tsx') }
]

/** Where /ui/ leads. */
export const HOME: Page = PAGES[0]!
