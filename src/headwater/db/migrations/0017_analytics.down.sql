DROP TABLE feed_item_clicks, analytics_refusals, analytics_consents;
