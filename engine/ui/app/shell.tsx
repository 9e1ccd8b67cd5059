/** What is around every page: navigation, the state of the gateway, keys, notices. */
import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { session } from '#engine/ui/api/client.ts'
import { isPaused, usePoll } from '#engine/ui/api/poll.ts'
import { HOME, PAGES, type Page } from '#engine/ui/pages/index.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Failure, Loading } from '#engine/ui/parts/state.tsx'
import { notice } from './announce.ts'
import { Help, isHelpOpen } from './help.tsx'
import { hrefOf, place } from './router.ts'
import { storedTheme, storeTheme, THEMES, type Theme } from './theme.ts'

const STATUS_EVERY_MS = 5000

/** The menu of narrow screens. */
export const isMenuOpen = signal(false)

export function Shell() {
  const [name = HOME.path] = place.value.parts
  const page = PAGES.find(({ path }) => path === name) ?? null
  useEffect(() => {
    document.title = page === null ? 'Weir' : `${page.title} · Weir`
    isMenuOpen.value = false
    scrollTo(0, 0)
  }, [page])
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <div class="frame">
        <Side current={page} />
        <div class="column">
          <Top title={page?.title ?? 'Not found'} />
          <main id="main" tabIndex={-1}>
            {page === null ? <NotFound name={name} /> : <Body key={page.path} page={page} />}
          </main>
        </div>
      </div>
      <Notices />
      {isHelpOpen.value && <Help />}
    </>
  )
}

function Side({ current }: { readonly current: Page | null }) {
  return (
    <nav class={isMenuOpen.value ? 'side open' : 'side'} id="menu" aria-label="Pages">
      <a class="brand" href={hrefOf([HOME.path])}>
        <Mark />
        Weir
      </a>
      <ul>
        {PAGES.map(({ path, title, key }) => (
          <li key={path}>
            <a href={hrefOf([path])} aria-current={path === current?.path ? 'page' : undefined}>
              {title}
              <span class="chord" aria-hidden="true">
                g {key}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {session.value !== null && session.value.role !== 'change' && (
        <p class="who muted">
          {session.value.name}: role {session.value.role}
        </p>
      )}
      <p class="foot">
        <a href="/api/v1/openapi.json" target="_blank" rel="noopener">
          API
        </a>
        <button type="button" class="quiet" onClick={() => (isHelpOpen.value = true)}>
          Keys <kbd>?</kbd>
        </button>
      </p>
    </nav>
  )
}

/** Water that steps down: the sign of the program. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M5 10c3.7 0 3.7-3 7.3-3s3.7 3 7.4 3 3.7-3 7.3-3M5 17c3.7 0 3.7-3 7.3-3s3.7 3 7.4 3 3.7-3 7.3-3M5 25h22" />
    </svg>
  )
}

function Top({ title }: { readonly title: string }) {
  const { data, failure } = usePoll('getStatus', {}, STATUS_EVERY_MS)
  return (
    <header class="top">
      <button
        type="button"
        class="menu"
        aria-expanded={isMenuOpen.value}
        aria-controls="menu"
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      >
        Menu
      </button>
      <h1>{title}</h1>
      <div class="facts">
        {failure?.status === 0 && <Badge tone="bad">no answer</Badge>}
        {data !== null && failure?.status !== 0 && (
          <>
            <Badge tone={data.isReady ? 'ok' : 'warn'}>
              {data.isReady ? 'ready' : `waits for ${data.pending.join(', ')}`}
            </Badge>
            {data.lastError !== null && <Badge tone="bad">configuration refused</Badge>}
            <span class="muted wide">
              {data.configuration === null ? 'no configuration' : `configuration ${data.configuration.version}`} ·{' '}
              {data.program.version}
            </span>
          </>
        )}
      </div>
      <button type="button" aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
        {isPaused.value ? 'Paused' : 'Live'}
      </button>
      <ThemeChoice />
    </header>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(storedTheme)
  const choose = (chosen: Theme) => {
    storeTheme(chosen)
    setTheme(chosen)
  }
  return (
    <select
      aria-label="Theme"
      value={theme}
      onChange={({ currentTarget }) => choose(THEMES.find((name) => name === currentTarget.value) ?? 'system')}
    >
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {name[0]!.toUpperCase() + name.slice(1)}
        </option>
      ))}
    </select>
  )
}

/** The code of a page comes when it is opened. */
function Body({ page }: { readonly page: Page }) {
  const [Loaded, setLoaded] = useState<ComponentType | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    page.load().then(
      (module) => setLoaded(() => module.default),
      // A newer build has other names; the page that is open was of the one before.
      () => setProblem('this page could not be fetched: the gateway is away, or has been renewed. Load the page again')
    )
  }, [page])
  if (problem !== null) return <Failure message={problem} />
  return Loaded === null ? <Loading what={page.title} /> : <Loaded />
}

function NotFound({ name }: { readonly name: string }) {
  return (
    <p>
      There is no page “{name}”. <a href={hrefOf([HOME.path])}>{HOME.title}</a> is where to begin.
    </p>
  )
}

function Notices() {
  const shown = notice.value
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown !== null && <p class={shown.isBad ? 'notice bad' : 'notice'}>{shown.text}</p>}
    </div>
  )
}
