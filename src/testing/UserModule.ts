/** Modules that users name: the one place that imports what lint cannot follow. */
export const load = <A>(href: string): Promise<A> => import(href) as Promise<A>
